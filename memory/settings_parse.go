package memory

import "strings"

// ParseSettings reads settings from a text such as
//
//	max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]
//
// with the keys and the grammar of PyTorch: pairs with commas between them,
// one after the last allowed, and blanks anywhere. Each call begins with the
// defaults. The error is a *SettingsError; the settings are the defaults then.
// Warnings name what the text has in vain, in the order of the text.
func ParseSettings(text string) (Settings, []Warning, error) {
	p := settingParser{text: text, tokens: splitText(text), given: map[*setting]settingValue{}}
	if err := p.pairs(); err != nil {
		return Settings{}, nil, err
	}
	if err := p.check(); err != nil {
		return Settings{}, nil, err
	}
	return p.settings, p.allWarnings(), nil
}

// textSpan is a piece of the text.
type textSpan struct{ from, to int }

// settingToken is a mark (, : [ ]) or a word. Blanks within a word are not part of it.
type settingToken struct {
	textSpan
	text string
}

// mark reports whether t is no word.
func (t settingToken) mark() bool { return strings.ContainsAny(t.text, ",:[]") }

// settingValue is a pair: its place in the text, and what is to the right of
// the colon, a word or a list.
type settingValue struct {
	textSpan
	word    string
	list    bool
	entries []settingEntry
}

// settingEntry is a pair in a list.
type settingEntry struct {
	textSpan
	name, word string
}

// splitText cuts a text into tokens.
func splitText(text string) []settingToken {
	var tokens []settingToken
	var word settingToken
	end := func() {
		if word.text != "" {
			tokens = append(tokens, word)
		}
		word = settingToken{}
	}
	for i := range len(text) {
		switch c := text[i]; c {
		case ',', ':', '[', ']':
			end()
			tokens = append(tokens, settingToken{textSpan{i, i + 1}, text[i : i+1]})
		case ' ', '\t', '\n', '\v', '\f', '\r':
		default:
			if word.text == "" {
				word.from = i
			}
			word.text += text[i : i+1]
			word.to = i + 1
		}
	}
	end()
	return tokens
}

// settingParser turns tokens into settings.
type settingParser struct {
	text     string
	tokens   []settingToken // what is left
	settings Settings
	given    map[*setting]settingValue // the last of each key
	warnings []Warning
}

// next takes a token if it is the mark, or for "" if it is a word.
func (p *settingParser) next(mark string) (settingToken, bool) {
	if len(p.tokens) == 0 || p.tokens[0].mark() != (mark != "") || mark != "" && p.tokens[0].text != mark {
		return settingToken{}, false
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t, true
}

// pairs reads the whole text.
func (p *settingParser) pairs() error {
	for len(p.tokens) > 0 {
		name, ok := p.next("")
		if !ok {
			return p.fail(p.tokens[0].textSpan, "", "a key is missing here")
		}
		k := findSetting(name.text)
		if k == nil {
			return p.fail(name.textSpan, name.text, unknownKey(name.text))
		}
		v, err := p.value(k, name)
		if err != nil {
			return err
		}
		if err := p.set(k, v); err != nil {
			return err
		}
		if _, ok := p.next(","); !ok && len(p.tokens) > 0 {
			return p.fail(p.tokens[0].textSpan, k.name, "a comma must come before this")
		}
	}
	return nil
}

// value reads what follows the name of a key.
func (p *settingParser) value(k *setting, name settingToken) (settingValue, error) {
	v := settingValue{textSpan: name.textSpan}
	colon, ok := p.next(":")
	if !ok {
		return v, p.fail(v.textSpan, k.name, "has no value")
	}
	if word, ok := p.next(""); ok {
		v.word, v.to = word.text, word.to
		return v, nil
	}
	v.to = colon.to
	if _, v.list = p.next("["); !v.list {
		return v, p.fail(v.textSpan, k.name, "has no value")
	}
	err := p.list(k, &v)
	if err == nil && !k.list {
		err = p.fail(v.textSpan, k.name, "must be one value, not a list")
	}
	return v, err
}

// list reads the entries of a list and the bracket after them.
func (p *settingParser) list(k *setting, v *settingValue) error {
	for {
		if bracket, ok := p.next("]"); ok {
			v.to = bracket.to
			return nil
		}
		var parts [3]settingToken
		for i, mark := range [...]string{"", ":", ""} {
			var ok bool
			if parts[i], ok = p.next(mark); !ok {
				return p.misfit(k, v)
			}
		}
		v.entries = append(v.entries, settingEntry{textSpan{parts[0].from, parts[2].to}, parts[0].text, parts[2].text})
		if _, ok := p.next(","); !ok && (len(p.tokens) == 0 || p.tokens[0].text != "]") {
			return p.misfit(k, v)
		}
	}
}

// misfit is the error of a list that breaks off or goes on in another way.
func (p *settingParser) misfit(k *setting, v *settingValue) error {
	if len(p.tokens) == 0 {
		return p.fail(textSpan{v.from, len(p.text)}, k.name, "the list has no ] at its end")
	}
	return p.fail(p.tokens[0].textSpan, k.name, "does not fit here: a list is [name:value,name:value]")
}

// set takes a value into the settings. The last one of a key holds.
func (p *settingParser) set(k *setting, v settingValue) error {
	if f := k.of(&p.settings); f != nil {
		at, reason := f.read(v)
		switch {
		case reason != "" && k.lenient:
			p.warn(k, at, reason)
			return nil
		case reason != "":
			return p.fail(at, k.name, reason)
		}
	}
	if before, ok := p.given[k]; ok {
		p.warn(k, before.textSpan, "is given again further on, and the last one holds")
	}
	p.given[k] = v
	return nil
}

// check looks at the ranges, some of which depend on keys that come later.
func (p *settingParser) check() error {
	for i := range settingKeys {
		k := &settingKeys[i]
		if v, ok := p.given[k]; ok {
			if f := k.of(&p.settings); f != nil && f.check() != "" {
				return p.fail(v.textSpan, k.name, f.check())
			}
		}
	}
	return nil
}

// fail makes an error about a piece of the text.
func (p *settingParser) fail(at textSpan, key, reason string) error {
	return &SettingsError{
		Text: p.text[at.from:at.to], Offset: at.from, Length: at.to - at.from, Key: key, Reason: reason,
	}
}
