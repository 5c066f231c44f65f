// Package invariants switches on checks that are too dear for every build.
//
//	go test -tags invariants ./...
//
// [Enabled] is a constant, so that a build without the tag compiles the checks
// out. Keep the path itself the same under the tag, or what ships goes
// untested: add checks, never another way of doing the work. Where a check
// costs more than the op it watches, run it [Sometimes].
package invariants
