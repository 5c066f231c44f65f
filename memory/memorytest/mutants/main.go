// Command mutants changes package memory, a line at a time, and demands that a
// test notices. A test that passes beside a wrong comparison or a forgotten
// event tests less than its name says.
//
//	go run ./memory/memorytest/mutants [-run regexp] [-list]
//
// Each mutant names the test that must fail, by an assertion: a panic, a
// timeout or code that does not compile is no answer. No file of the tree is
// touched; the go command is told to read a changed copy in place of one.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	pattern := flag.String("run", "", "only the mutants whose names match `regexp`")
	list := flag.Bool("list", false, "print the mutants and run nothing")
	flag.Parse()
	if err := run(*pattern, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(pattern string, list bool) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	r := runner{root: root, clean: make(map[string]error)}
	tried, missed := 0, 0
	for _, m := range mutants {
		if !match.MatchString(m.name) {
			continue
		}
		tried++
		if list {
			fmt.Printf("%-40s %-22s %s\n", m.name, m.file, m.test)
			continue
		}
		start := time.Now()
		v, err := r.try(m)
		if v != caught {
			missed++
		}
		if err != nil {
			fmt.Printf("%-40s %v\n", m.name, err)
			continue
		}
		fmt.Printf("%-40s %-50s %-14v %5.1f s\n", m.name, m.test, v, time.Since(start).Seconds())
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d were not caught", missed, tried)
	}
	return nil
}
