package memory

// setting is a key of the text.
type setting struct {
	name  string
	alias string                         // another spelling, "" for none
	of    func(s *Settings) settingField // returns nil where nothing depends on the key
	list  bool                           // [name:value,...] is a value too
	// native is set where the driver's own pool takes no notice of the key.
	native bool
	// lenient is set where a bad value is passed over, with a warning.
	lenient bool
	// inert says why the key changes nothing, where it does not.
	inert string
}

// settingKeys are all keys, in the order in which String prints them. See
// settings_fields.go for the kinds of their values.
var settingKeys = [...]setting{
	{name: "backend", of: func(s *Settings) settingField { return backendField{&s.Backend} }},
	{name: "large_segment_size_mb", native: true,
		of: func(s *Settings) settingField { return sizeField{&s.LargeSegment, 2 * mebi, ""} }},
	{name: "max_split_size_mb", native: true,
		of: func(s *Settings) settingField { return sizeField{&s.MaxSplitSize, s.largeSegment(), ofLargeSegment} }},
	{name: "max_non_split_rounding_mb", native: true,
		of: func(s *Settings) settingField {
			return sizeField{&s.MaxNonSplitRounding, s.largeSegment(), ofLargeSegment}
		}},
	{name: "roundup_power2_divisions", native: true, list: true,
		of: func(s *Settings) settingField { return divisionsField{&s.RoundupPower2Divisions} }},
	{name: "garbage_collection_threshold", native: true,
		of: func(s *Settings) settingField { return thresholdField{&s.GCThreshold} }},
	{name: "per_process_memory_fraction",
		of: func(s *Settings) settingField { return fractionField{&s.MemoryFraction} }},
	{name: "throw_on_cudamalloc_oom", native: true,
		of: func(s *Settings) settingField { return flagField{&s.ThrowOnMallocOOM} }},
	{name: "expandable_segments", native: true,
		of: func(s *Settings) settingField { return expandableField{&s.Expandable} }},
	{name: "expandable_segments_reserve", native: true, lenient: true,
		of: func(s *Settings) settingField { return reserveField{&s.ExpandableReserve} }},
	{name: "expandable_segments_reserve_by_class", list: true, of: nothing,
		inert: "changes nothing: address space is reserved for a device, not for each stream"},
	{name: "release_lock_on_cudamalloc", alias: "release_lock_on_hipmalloc",
		of:    func(*Settings) settingField { return flagField{new(bool)} },
		inert: "changes nothing: no call to the driver is ever made under a lock"},
	{name: "graph_capture_record_stream_reuse",
		of:    func(*Settings) settingField { return flagField{new(bool)} },
		inert: "changes nothing: what other streams used is free again when the capture is over"},
	{name: "pinned_use_cuda_host_register", alias: "pinned_use_hip_host_register",
		of: func(s *Settings) settingField { return flagField{&s.Pinned.UseHostRegister} }},
	{name: "pinned_num_register_threads",
		of: func(s *Settings) settingField { return threadsField{&s.Pinned.RegisterThreads} }},
	{name: "pinned_use_background_threads",
		of: func(s *Settings) settingField { return flagField{&s.Pinned.BackgroundThreads} }},
	{name: "pinned_reserve_segment_size_mb",
		of: func(s *Settings) settingField { return sizeField{&s.Pinned.ReserveSegment, mebi, ""} }},
	{name: "pinned_max_round_threshold_mb",
		of: func(s *Settings) settingField { return sizeField{&s.Pinned.MaxRoundThreshold, mebi, ""} }},
	{name: "pinned_max_cached_size_mb",
		of: func(s *Settings) settingField { return sizeField{&s.Pinned.MaxCached, mebi, ""} }},
	{name: "pinned_free_catch_all",
		of:    func(*Settings) settingField { return flagField{new(bool)} },
		inert: "changes nothing: an error in a free is returned and never ends the program"},
}

// ofLargeSegment explains a bound.
const ofLargeSegment = ", the size of a large segment"

// nothing is the field of a key that is read and forgotten.
func nothing(*Settings) settingField { return nil }

// findSetting returns the key of that name or alias, nil if there is none.
func findSetting(name string) *setting {
	for i := range settingKeys {
		if k := &settingKeys[i]; k.name == name || k.alias == name && name != "" {
			return k
		}
	}
	return nil
}

// unknownKey is the reason against a key that does not exist. It suggests the
// nearest one if two slips of the finger explain the difference.
func unknownKey(name string) string {
	near, least := "", 3
	for i := range settingKeys {
		for _, known := range [...]string{settingKeys[i].name, settingKeys[i].alias} {
			if d := editDistance(name, known, least); d < least && known != "" {
				near, least = known, d
			}
		}
	}
	if near == "" {
		return "there is no such key"
	}
	return "there is no such key; did you mean " + near + "?"
}

// editDistance counts the bytes to insert, delete or change to get from a to
// b. What differs in length by limit or more is not counted: limit is returned.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
