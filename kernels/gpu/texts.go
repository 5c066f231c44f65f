package gpu

// Module is the PTX text of a family of kernels.
type Module struct {
	Name  string
	Major int // the least compute capability that runs it
	PTX   string
}

// Modules returns all modules, as a driver loads them.
func Modules() []Module {
	all := make([]Module, len(modules))
	for i, m := range modules {
		text, err := texts.ReadFile("ptx/" + m.name + ".ptx")
		if err != nil {
			panic("gpu: " + err.Error()) // it is embedded, so that only a wrong name is missing
		}
		all[i] = Module{m.name, m.major, string(text)}
	}
	return all
}
