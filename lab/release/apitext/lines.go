package apitext

import (
	"fmt"
	"go/constant"
	"go/types"
	"strings"
)

// writer writes the lines of one package.
type writer struct {
	pkg   *types.Package
	lines []string
}

func packageLines(p *types.Package) []string {
	w := &writer{pkg: p}
	scope := p.Scope()
	for _, name := range scope.Names() {
		if object := scope.Lookup(name); object.Exported() {
			w.object(object)
		}
	}
	return w.lines
}

func (w *writer) add(format string, args ...any) {
	w.lines = append(w.lines, "pkg "+w.pkg.Path()+", "+fmt.Sprintf(format, args...))
}

func (w *writer) object(object types.Object) {
	switch o := object.(type) {
	case *types.Const:
		value := ""
		if o.Val().Kind() != constant.Unknown {
			value = " = " + o.Val().ExactString()
		}
		w.add("const %s %s%s", o.Name(), w.text(o.Type()), value)
	case *types.Var:
		w.add("var %s %s", o.Name(), w.text(o.Type()))
	case *types.Func:
		w.add("func %s%s", o.Name(), w.signature(o.Signature()))
	case *types.TypeName:
		w.typeName(o)
	}
}

func (w *writer) typeName(o *types.TypeName) {
	if o.IsAlias() {
		w.add("type %s = %s", o.Name(), w.text(types.Unalias(o.Type())))
		return
	}
	named := o.Type().(*types.Named)
	name := o.Name() + w.parameters(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		w.add("type %s struct", name)
		for field := range u.Fields() {
			if field.Exported() {
				w.add("type %s struct, %s %s", name, field.Name(), w.text(field.Type()))
			}
		}
	case *types.Interface:
		w.interfaceType(name, u)
	default:
		w.add("type %s %s", name, w.text(u))
	}
	w.methods(named)
}

// interfaceType writes an interface. Whoever implements it is broken by a method that is added, unless there are
// methods that nobody outside can implement: so the list of methods is a part of its first line.
func (w *writer) interfaceType(name string, i *types.Interface) {
	var methods []string
	closed := false
	for m := range i.Methods() {
		if m.Exported() {
			methods = append(methods, m.Name())
			w.add("type %s interface, %s%s", name, m.Name(), w.signature(m.Signature()))
		} else {
			closed = true
		}
	}
	switch {
	case closed:
		w.add("type %s interface, unexported methods", name)
	case !i.IsMethodSet():
		w.add("type %s interface, %s", name, w.text(i))
	default:
		w.add("type %s interface { %s }", name, strings.Join(methods, ", "))
	}
}

// methods writes the methods of a type, with those of embedded fields.
func (w *writer) methods(named *types.Named) {
	if types.IsInterface(named) {
		return
	}
	values := types.NewMethodSet(named)
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		m := selection.Obj().(*types.Func)
		if !m.Exported() {
			continue
		}
		receiver := "*" + named.Obj().Name()
		if values.Lookup(m.Pkg(), m.Name()) != nil {
			receiver = named.Obj().Name()
		}
		w.add("method (%s) %s%s", receiver, m.Name(), w.signature(selection.Type().(*types.Signature)))
	}
}

// text returns a type as a program in another package would write it, with names of packages, not paths.
func (w *writer) text(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		return p.Name()
	})
}

// signature returns a function's type without the names of its parameters, which no caller sees.
func (w *writer) signature(s *types.Signature) string {
	nameless := types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
	return w.parameters(s.TypeParams()) + strings.TrimPrefix(w.text(nameless), "func")
}

func unnamed(tuple *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range tuple.Variables() {
		vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
	}
	return types.NewTuple(vars...)
}

func (w *writer) parameters(list *types.TypeParamList) string {
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.Obj().Name()+" "+w.text(p.Constraint()))
	}
	if all == nil {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}
