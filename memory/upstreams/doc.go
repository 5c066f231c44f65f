// Package upstreams stacks on a [memory.Upstream]: each type here is one, made
// from one, that watches or changes the calls on their way.
//
//	Limit   holds no more than so many bytes        limit.go
//	Count   counts calls, failures and bytes held   count.go
//	Log     one slog record a call                  log.go
//	Trace   one line of JSON a call                 trace.go
//	Replay  makes the calls of a trace again        replay.go
//	Fail    lets one call fail                      fail.go
//
// They stack in any order, and the order means something: Count over Fail
// counts the calls that were made to fail, Fail over Count does not.
//
// A call is a [Call], whichever method it came by (tap.go). Props and Processes
// are none: they change nothing, and are passed on. Put the stack together
// before the first call: what was taken below it earlier, Limit and Count do
// not know.
//
// All types may be used by many goroutines, as an Upstream must.
package upstreams
