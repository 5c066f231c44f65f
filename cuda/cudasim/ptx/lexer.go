package ptx

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// token kinds.
const (
	tokEnd    = iota
	tokWord   // a name, directive, mnemonic or register, with the dots inside it
	tokNumber // an integer or float immediate
	tokString
	tokPunct // one character
)

// token is one lexical element and its place, counted from 1.
type token struct {
	kind      int
	text      string
	line, col int
	num       number // of a tokNumber
}

// number is an immediate: an integer, or a float in the bits of its width.
type number struct {
	bits  uint64
	float int // 0 for an integer, else 32 or 64
}

// as returns the immediate as a value of type t.
func (n number) as(t dtype) uint64 {
	switch {
	case n.float == 64 && t.bits() == 32 && t.kind() == kindFloat:
		return uint64(math.Float32bits(float32(math.Float64frombits(n.bits))))
	case n.float == 32 && t.bits() == 64 && t.kind() == kindFloat:
		return math.Float64bits(float64(math.Float32frombits(uint32(n.bits))))
	}
	return n.bits
}

// lex cuts a module's text into tokens. Comments are left out, and so are
// lines that hold debug information alone.
func lex(module, text string) ([]token, error) {
	l := &lexer{module: module, lines: strings.Split(text, "\n")}
	for n := range l.lines {
		if err := l.lexLine(n + 1); err != nil {
			return nil, err
		}
	}
	last := len(l.lines)
	if l.comment {
		return nil, l.fail(last, 1, "comment without an end")
	}
	return append(l.tokens, token{kind: tokEnd, text: "end of the text", line: last, col: 1}), nil
}

type lexer struct {
	module  string
	lines   []string
	tokens  []token
	comment bool // within /* */
}

func (l *lexer) fail(line, col int, reason string) *ParseError {
	return &ParseError{Module: l.module, Line: line, Column: col, Text: strings.TrimSpace(l.lines[line-1]), Reason: reason}
}

func (l *lexer) lexLine(n int) error {
	s := strings.TrimRight(l.lines[n-1], "\r\x00")
	for i := 0; i < len(s); {
		rest := s[i:]
		if l.comment {
			end := strings.Index(rest, "*/")
			if end < 0 {
				return nil
			}
			l.comment = false
			i += end + 2
			continue
		}
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\f' || c == '\v':
			i++
		case strings.HasPrefix(rest, "//"):
			return nil
		case strings.HasPrefix(rest, "/*"):
			l.comment = true
			i += 2
		case c == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return l.fail(n, i+1, "string without an end")
			}
			l.add(tokString, rest[1:end+1], n, i)
			i += end + 2
		case c >= '0' && c <= '9':
			size := span(rest, func(c byte) bool { return wordByte(c) && c != '.' && c != '%' })
			// A version has a point; no other number does.
			if size < len(rest) && rest[size] == '.' {
				size += 1 + span(rest[size+1:], func(c byte) bool { return c >= '0' && c <= '9' })
				l.add(tokWord, rest[:size], n, i)
			} else {
				num, ok := parseNumber(rest[:size])
				if !ok {
					return l.fail(n, i+1, "bad number "+strconv.Quote(rest[:size]))
				}
				l.add(tokNumber, rest[:size], n, i)
				l.tokens[len(l.tokens)-1].num = num
			}
			i += size
		case wordByte(c):
			size := span(rest, wordByte)
			for strings.HasPrefix(rest[size:], "::") { // as in .shared::cta
				size += 2 + span(rest[size+2:], wordByte)
			}
			word := rest[:size]
			if word == ".loc" || word == ".file" {
				return nil
			}
			l.add(tokWord, word, n, i)
			i += size
		case strings.IndexByte(",;[]{}()+-@!:<>=|", c) >= 0:
			l.add(tokPunct, rest[:1], n, i)
			i++
		default:
			return l.fail(n, i+1, "character "+strconv.QuoteRune(rune(c))+" has no place in PTX")
		}
	}
	return nil
}

func (l *lexer) add(kind int, text string, line, i int) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, line: line, col: i + 1})
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '%' || c == '.'
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

// parseNumber reads decimal, 0x, 0b and octal integers, with or without U, and
// floats as 0f and 8 or 0d and 16 hex digits.
func parseNumber(s string) (number, bool) {
	if len(s) > 2 && s[0] == '0' {
		width := map[byte]int{'f': 32, 'F': 32, 'd': 64, 'D': 64}[s[1]]
		if width != 0 {
			raw, err := hex.DecodeString(s[2:])
			if err != nil || len(raw)*8 != width {
				return number{}, false
			}
			return number{binary.BigEndian.Uint64(append(make([]byte, 8-len(raw)), raw...)), width}, true
		}
	}
	v, err := strconv.ParseUint(strings.TrimSuffix(s, "U"), 0, 64)
	return number{bits: v}, err == nil && !strings.Contains(s, "_")
}
