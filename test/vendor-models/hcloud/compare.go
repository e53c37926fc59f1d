package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/schema"
)

// nullable has the fields that Hetzner documents as null, although the client's type is not a pointer: it
// reads null as the zero value.
var nullable = []string{
	"ServerPublicNet.ipv4",
	"ServerPublicNet.ipv6",
	"MetaPagination.previous_page",
	"MetaPagination.next_page",
	"MetaPagination.last_page",
	"MetaPagination.total_entries",
}

// values has the client's constants of fields that its types declare as plain strings.
var values = map[string][]string{
	"Server.status": {
		string(hcloud.ServerStatusInitializing), string(hcloud.ServerStatusOff), string(hcloud.ServerStatusRunning),
		string(hcloud.ServerStatusStarting), string(hcloud.ServerStatusStopping), string(hcloud.ServerStatusMigrating),
		string(hcloud.ServerStatusRebuilding), string(hcloud.ServerStatusDeleting), string(hcloud.ServerStatusUnknown),
	},
	"Action.status": {
		string(hcloud.ActionStatusRunning), string(hcloud.ActionStatusSuccess), string(hcloud.ActionStatusError),
	},
	"ActionResourceReference.type": {
		string(hcloud.ActionResourceTypeServer), string(hcloud.ActionResourceTypeNetwork), string(hcloud.ActionResourceTypeImage),
	},
	"ServerType.architecture": {string(hcloud.ArchitectureX86), string(hcloud.ArchitectureARM)},
	"ServerType.cpu_type":     {string(hcloud.CPUTypeShared), string(hcloud.CPUTypeDedicated)},
	"ServerType.storage_type": {string(hcloud.StorageTypeLocal), string(hcloud.StorageTypeCeph)},
	"Location.network_zone": {
		string(hcloud.NetworkZoneEUCentral), string(hcloud.NetworkZoneUSEast), string(hcloud.NetworkZoneUSWest),
		string(hcloud.NetworkZoneAPSouthEast),
	},
	"NetworkSubnet.type": {
		string(hcloud.NetworkSubnetTypeCloud), string(hcloud.NetworkSubnetTypeServer), string(hcloud.NetworkSubnetTypeVSwitch),
	},
	"Error.code": errorCodes,
}

// errorCodes has the codes that any request may get.
var errorCodes = func() []string {
	codes := []string{}
	for _, code := range []hcloud.ErrorCode{
		hcloud.ErrorCodeServiceError, hcloud.ErrorCodeRateLimitExceeded, hcloud.ErrorCodeUnknownError,
		hcloud.ErrorCodeNotFound, hcloud.ErrorCodeInvalidInput, hcloud.ErrorCodeForbidden,
		hcloud.ErrorCodeUnauthorized, hcloud.ErrorCodeJSONError, hcloud.ErrorCodeLocked,
		hcloud.ErrorCodeResourceLimitExceeded, hcloud.ErrorCodeResourceUnavailable, hcloud.ErrorCodeUniquenessError,
		hcloud.ErrorCodeProtected, hcloud.ErrorCodeMaintenance, hcloud.ErrorCodeConflict,
		hcloud.ErrorCodeRobotUnavailable, hcloud.ErrorCodeResourceLocked, hcloud.ErrorCodeServerError,
		hcloud.ErrorCodeBadGateway, hcloud.ErrorCodeTimeout, hcloud.ErrorUnsupportedError,
		hcloud.ErrorDeprecatedAPIEndpoint,
	} {
		codes = append(codes, string(code))
	}
	return codes
}()

// optional has the fields that Hetzner may leave out, although their tags do not say omitempty.
var optional = []string{"Error.details"}

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

// checkStructs compares an object with the members of its types: unknown ones, missing ones, and their values.
func checkStructs(at string, value any, types []reflect.Type) []string {
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
		if member == nil && slices.Contains(nullable, path) {
			continue
		}
		messages = append(messages, checkValue(at+"."+name, member, declared.kind)...)
		if text, isText := member.(string); isText && values[path] != nil && !slices.Contains(values[path], text) {
			messages = append(messages, fmt.Sprintf("%s.%s: %q is not among the client's values", at, name, text))
		}
	}
	for name, declared := range fields {
		_, ok := object[name]
		if !ok && !declared.omitEmpty && !slices.Contains(optional, declared.owner+"."+name) {
			messages = append(messages, fmt.Sprintf("%s.%s: missing, %s has it", at, name, declared.owner))
		}
	}
	slices.Sort(messages)
	return messages
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	idOrName = reflect.TypeFor[schema.IDOrName]()
)

// checkValue compares a value with a type of the client.
func checkValue(at string, value any, kind reflect.Type) []string {
	if kind.Kind() == reflect.Pointer {
		if value == nil {
			return nil
		}
		return checkValue(at, value, kind.Elem())
	}
	if kind == rawType || kind == idOrName || kind.Kind() == reflect.Interface {
		return nil
	}
	wrong := []string{fmt.Sprintf("%s: %s in place of %s", at, describe(value), kind)}
	if kind == timeType {
		text, _ := value.(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return wrong
		}
		return nil
	}
	switch kind.Kind() {
	case reflect.Struct:
		return checkStructs(at, value, []reflect.Type{kind})
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			return wrong
		}
		messages := []string{}
		for _, each := range list {
			messages = append(messages, checkValue(at+"[]", each, kind.Elem())...)
		}
		return messages
	case reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			return wrong
		}
		messages := []string{}
		for _, each := range object {
			messages = append(messages, checkValue(at+"{}", each, kind.Elem())...)
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
