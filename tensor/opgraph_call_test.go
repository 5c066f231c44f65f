package tensor_test

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"tarn/tensor"
)

// value is the number of a tensor in a graphProgram; noValue stands for nil.
type value int

const noValue value = -1

// options is an options struct of which one field is a tensor of the program.
type options struct {
	literal any
	field   string
	tensor  value
}

// opCall is a call of a function of package tensor, or of a method of the
// tensor that is its first argument.
type opCall struct {
	name    string
	args    []any
	handles map[int]handle // of the tensors among them
	// rounds is set where the result is not one that every device must have to
	// the last bit.
	rounds bool
}

// handle says through which handle a call gets a tensor.
type handle struct {
	how   string // "", "NoGrad", "On(second)", "On(third)" or "In"
	scope int    // of "In"
}

// graphFunctions are the ops that are not methods.
var graphFunctions = map[string]any{
	"Where": tensor.Where, "Einsum": tensor.Einsum, "Concat": tensor.Concat, "Stack": tensor.Stack, "Embedding": tensor.Embedding,
}

// operands calls f for each tensor among the arguments.
func (c *opCall) operands(f func(v value)) {
	for _, a := range c.args {
		switch a := a.(type) {
		case value:
			f(a)
		case []value:
			for _, v := range a {
				f(v)
			}
		case options:
			f(a.tensor)
		}
	}
}

// run makes the call and returns its results one by one.
func (c *opCall) run(m *machine) []*tensor.Tensor {
	args := make([]reflect.Value, len(c.args))
	var temporary []*tensor.Tensor
	for i, a := range c.args {
		switch a := a.(type) {
		case value:
			t := m.tensors[a]
			if h := c.handles[i]; h.how != "" && t != nil {
				t = m.handle(t, h)
				temporary = append(temporary, t)
			}
			if m.noise != nil && c.rounds && t != nil && t.DType().IsFloat() && !t.DType().IsHalf() {
				t = perturb(t, m.noise, 2, 0)
				temporary = append(temporary, t)
			}
			args[i] = reflect.ValueOf(t)
		case []value:
			list := make([]*tensor.Tensor, len(a))
			for j, v := range a {
				list[j] = m.tensors[v]
			}
			args[i] = reflect.ValueOf(list)
		case options:
			v := reflect.New(reflect.TypeOf(a.literal)).Elem()
			v.Set(reflect.ValueOf(a.literal))
			v.FieldByName(a.field).Set(reflect.ValueOf(m.tensors[a.tensor]))
			args[i] = v
		case ownDevice:
			args[i] = reflect.ValueOf(m.d)
		case seedNumber:
			args[i] = reflect.ValueOf(tensor.NewGenerator(uint64(a)))
		default:
			args[i] = reflect.ValueOf(a)
		}
	}
	var results []reflect.Value
	if f := graphFunctions[c.name]; f != nil {
		results = reflect.ValueOf(f).Call(args)
	} else {
		results = args[0].MethodByName(c.name).Call(args[1:])
	}
	for _, t := range temporary {
		m.errs = append(m.errs, t.Release())
	}
	var out []*tensor.Tensor
	for _, r := range results {
		switch r := r.Interface().(type) {
		case *tensor.Tensor:
			out = append(out, r)
		case []*tensor.Tensor:
			out = append(out, r...)
		}
	}
	return out
}

// handle returns a handle on t.
func (m *machine) handle(t *tensor.Tensor, h handle) *tensor.Tensor {
	switch h.how {
	case "NoGrad":
		return t.NoGrad()
	case "On(second)":
		return t.On(m.second)
	case "On(third)":
		return t.On(m.third)
	case "In":
		return t.In(m.scope(h.scope))
	}
	return t
}

// text is the call as Go, with results from first on.
func (c *opCall) text(first value, results int) string {
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = argText(a)
		switch h := c.handles[i]; h.how {
		case "":
		case "In":
			args[i] += fmt.Sprintf(".In(scopes[%d])", h.scope)
		case "NoGrad":
			args[i] += ".NoGrad()"
		default:
			args[i] += "." + h.how
		}
	}
	call := "tensor." + c.name + "(" + strings.Join(args, ", ") + ")"
	if graphFunctions[c.name] == nil {
		call = args[0] + "." + c.name + "(" + strings.Join(args[1:], ", ") + ")"
	}
	if method, ok := reflect.TypeFor[*tensor.Tensor]().MethodByName(c.name); ok && method.Type.Out(0).Kind() == reflect.Slice {
		return fmt.Sprintf("copy(t[%d:], %s)", first, call)
	}
	left := make([]string, results)
	for i := range left {
		left[i] = argText(first + value(i))
	}
	return strings.Join(left, ", ") + " = " + call
}

func argText(a any) string {
	switch a := a.(type) {
	case value:
		if a == noValue {
			return "nil"
		}
		return fmt.Sprintf("t[%d]", a)
	case []value:
		list := make([]string, len(a))
		for i, v := range a {
			list[i] = argText(v)
		}
		return "[]*tensor.Tensor{" + strings.Join(list, ", ") + "}"
	case float64:
		if math.IsInf(a, 0) {
			return fmt.Sprintf("math.Inf(%d)", int(math.Copysign(1, a)))
		}
		return strconv.FormatFloat(a, 'g', -1, 64)
	case tensor.DType:
		return dtypeText(a)
	case ownDevice:
		return "d"
	case seedNumber:
		return fmt.Sprintf("tensor.NewGenerator(%d)", uint64(a))
	case options:
		text := strings.TrimSuffix(argText(a.literal), "}")
		if !strings.HasSuffix(text, "{") {
			text += ", "
		}
		return text + a.field + ": " + argText(a.tensor) + "}"
	}
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Struct {
		return fmt.Sprintf("%#v", a)
	}
	var fields []string
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fields = append(fields, fmt.Sprintf("%s: %#v", v.Type().Field(i).Name, f.Interface()))
		}
	}
	return fmt.Sprintf("%T{%s}", a, strings.Join(fields, ", "))
}

// dtypeText is a type's name in Go.
func dtypeText(d tensor.DType) string {
	names := map[tensor.DType]string{tensor.BFloat16: "BFloat16"}
	if name, ok := names[d]; ok {
		return "tensor." + name
	}
	s := d.String()
	return "tensor." + strings.ToUpper(s[:1]) + s[1:]
}
