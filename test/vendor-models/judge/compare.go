package judge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Rules has what a vendor documents beyond the types of its client. Fields are named by their type and their
// name in JSON, such as `Server.status`.
type Rules struct {
	// Nullable fields may be null, although their type is not a pointer: the client reads null as the zero value.
	Nullable []string
	// Optional fields may be missing, although their tags do not say omitempty.
	Optional []string
	// Values has the client's constants of fields that its types declare as plain strings.
	Values map[string][]string
}

// field is a member of a JSON object, as the client's type declares it.
type field struct {
	owner     string
	kind      reflect.Type
	omitEmpty bool
}

// listFields returns the members of struct types, with those of embedded structs.
func listFields(types []reflect.Type) map[string]field {
	fields := map[string]field{}
	for _, each := range types {
		for i := range each.NumField() {
			member := each.Field(i)
			name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if member.Anonymous && name == "" {
				for name, inner := range listFields([]reflect.Type{member.Type}) {
					fields[name] = inner
				}
				continue
			}
			if name == "" {
				name = member.Name
			}
			fields[name] = field{each.Name(), member.Type, strings.Contains(options, "omitempty")}
		}
	}
	return fields
}

// checkJSON reports how a JSON text differs from the union of these struct types.
func (rules Rules) checkJSON(at, text string, types ...reflect.Type) []string {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return []string{at + ": not JSON"}
	}
	return rules.checkStructs(at, value, types)
}

// checkStructs compares an object with the members of its types: unknown ones, missing ones, and their values.
func (rules Rules) checkStructs(at string, value any, types []reflect.Type) []string {
	object, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: %s in place of an object", at, describe(value))}
	}
	fields := listFields(types)
	messages := []string{}
	for name, member := range object {
		declared, ok := fields[name]
		if !ok {
			messages = append(messages, fmt.Sprintf("%s.%s: unknown to %s", at, name, types[0].Name()))
			continue
		}
		path := declared.owner + "." + name
		if member == nil && slices.Contains(rules.Nullable, path) {
			continue
		}
		messages = append(messages, rules.checkValue(at+"."+name, member, declared.kind)...)
		values := rules.Values[path]
		if text, isText := member.(string); isText && values != nil && !slices.Contains(values, text) {
			messages = append(messages, fmt.Sprintf("%s.%s: %q is not among the client's values", at, name, text))
		}
	}
	for name, declared := range fields {
		_, ok := object[name]
		if !ok && !declared.omitEmpty && !slices.Contains(rules.Optional, declared.owner+"."+name) {
			messages = append(messages, fmt.Sprintf("%s.%s: missing, %s has it", at, name, declared.owner))
		}
	}
	slices.Sort(messages)
	return messages
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

// checkValue compares a value with a type of the client.
func (rules Rules) checkValue(at string, value any, kind reflect.Type) []string {
	if kind.Kind() == reflect.Pointer {
		if value == nil {
			return nil
		}
		return rules.checkValue(at, value, kind.Elem())
	}
	if kind.Kind() == reflect.Interface {
		return nil
	}
	wrong := []string{fmt.Sprintf("%s: %s in place of %s", at, describe(value), kind)}
	// Such as times. The client itself says whether it understands the value.
	if reflect.PointerTo(kind).Implements(unmarshalerType) {
		text, err := json.Marshal(value)
		if err != nil || json.Unmarshal(text, reflect.New(kind).Interface()) != nil {
			return wrong
		}
		return nil
	}
	switch kind.Kind() {
	case reflect.Struct:
		return rules.checkStructs(at, value, []reflect.Type{kind})
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			return wrong
		}
		messages := []string{}
		for _, each := range list {
			messages = append(messages, rules.checkValue(at+"[]", each, kind.Elem())...)
		}
		return messages
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			return wrong
		}
		messages := []string{}
		for _, each := range object {
			messages = append(messages, rules.checkValue(at+"{}", each, kind.Elem())...)
		}
		return messages
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return wrong
		}
	case reflect.String:
		if _, ok := value.(string); !ok {
			return wrong
		}
	default:
		number, ok := value.(json.Number)
		if !ok || json.Unmarshal([]byte(number), reflect.New(kind).Interface()) != nil {
			return wrong
		}
	}
	return nil
}

func describe(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}
