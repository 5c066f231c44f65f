package ptx

// fastest32 and fastest64 return an operation with the host's vector
// instructions if there are any for it.

func fastest32(key string) entry32 {
	e := table32[key]
	if f := vectors32[key]; f != nil {
		e.f = f
	}
	return e
}

func fastest64(key string) entry64 {
	e := table64[key]
	if f := vectors64[key]; f != nil {
		e.f = f
	}
	return e
}
