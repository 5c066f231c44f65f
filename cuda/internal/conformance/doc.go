// Package conformance is a table of facts about the driver: what it refuses,
// and with which code, and what it orders. The simulator models each of them
// and is held to the table in every test run; where there is a real driver it
// is asked the same, and a row that differs is a mistake of the simulator's.
//
// A row's answer is the name of a result code, or a few words where it is not
// about one. Where the documentation leaves the code open the row says
// "refused", which any code but success is.
//
// The rows are written against the table of C functions itself: package cuda
// would refuse some of this before the driver sees it.
package conformance
