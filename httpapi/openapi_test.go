package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

var (
	parameterInPath = regexp.MustCompile(`\{([a-z_]+)\}`)
	reference       = regexp.MustCompile(`"#/(?:\$defs|components/schemas)/(\w+)"`)
)

// TestOpenAPI fails when openapi.json differs from what the routes, their texts and the
// JSON Schema say. With SAYSO_OPENAPI=write it writes the file.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	document, err := json.MarshalIndent(openAPIDocument(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	document = append(document, '\n')
	checkReferences(t, document)
	if os.Getenv("SAYSO_OPENAPI") == "write" {
		if err := os.WriteFile("openapi.json", document, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, document) {
		t.Error("openapi.json is stale: run go generate ./...")
	}
}

// TestOpenAPIIsServed reads the document without signing in.
func TestOpenAPIIsServed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	res, err := h.Client.Get(h.Web.URL + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var document struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]any
	}
	if err := json.NewDecoder(res.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || document.OpenAPI != "3.1.0" {
		t.Fatalf("status %d, version %q", res.StatusCode, document.OpenAPI)
	}
	for _, rt := range httpapi.Routes() {
		if document.Paths[rt.Pattern][strings.ToLower(rt.Method)] == nil {
			t.Errorf("%s %s is not in the document", rt.Method, rt.Pattern)
		}
	}
}

func openAPIDocument(t *testing.T) map[string]any {
	texts, err := apitest.RouteTexts()
	if err != nil {
		t.Fatal(err)
	}
	defs := schemaDefinitions(t)
	paths, used := map[string]map[string]any{}, map[string]bool{}
	for _, rt := range httpapi.Routes() {
		name := rt.Method + " " + rt.Pattern
		text, ok := texts[name]
		if !ok {
			t.Errorf("docs/integrating/routes.json does not describe %s", name)
			continue
		}
		used[name] = true
		operation := map[string]any{
			"operationId": operationID(rt.Method, rt.Pattern),
			"tags":        []string{text.Group},
			"summary":     text.Summary,
			"responses":   responses(t, name, text, defs),
		}
		if text.Notes != "" {
			operation["description"] = text.Notes
		}
		if rt.Policy == "anybody" {
			operation["security"] = []any{}
		} else {
			operation["x-role"] = rt.Policy
		}
		if parameters := parametersOf(rt.Pattern, text.Query); len(parameters) > 0 {
			operation["parameters"] = parameters
		}
		if text.Body != nil {
			operation["requestBody"] = map[string]any{"content": map[string]any{
				"application/json": map[string]any{"schema": bodySchema(t, name, *text.Body, defs)},
			}}
		}
		if paths[rt.Pattern] == nil {
			paths[rt.Pattern] = map[string]any{}
		}
		paths[rt.Pattern][strings.ToLower(rt.Method)] = operation
	}
	for name := range texts {
		if !used[name] {
			t.Errorf("docs/integrating/routes.json describes %s, which does not exist", name)
		}
	}
	document := map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "sayso", "version": fmt.Sprint(wire.Protocol),
			"description": "Times are Unix seconds, sizes are bytes. Responses may gain fields; requests refuse unknown fields.",
		},
		"security": []any{map[string]any{"token": []string{}}, map[string]any{"cookie": []string{}, "page_key": []string{}}},
		"paths":    paths,
	}
	document["components"] = map[string]any{
		"schemas": reachableSchemas(t, paths, defs),
		"securitySchemes": map[string]any{
			"token":    map[string]any{"type": "http", "scheme": "bearer"},
			"cookie":   map[string]any{"type": "apiKey", "in": "cookie", "name": "sayso"},
			"page_key": map[string]any{"type": "apiKey", "in": "header", "name": "X-Sayso-Page-Key"},
		},
	}
	return document
}

// schemaDefinitions returns the definitions of the JSON Schema, referring to components.
func schemaDefinitions(t *testing.T) map[string]map[string]any {
	found, err := filepath.Glob(filepath.FromSlash("../*/testdata/schema.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("one testdata/schema.json was expected, found %v", found)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(bytes.ReplaceAll(data, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Defs
}

func operationID(method, pattern string) string {
	words := strings.FieldsFunc(strings.TrimPrefix(pattern, "/api"), func(r rune) bool { return strings.ContainsRune("/{}.-", r) })
	return strings.ToLower(method) + "_" + strings.Join(words, "_")
}

func parametersOf(pattern string, query []string) []any {
	var parameters []any
	text := map[string]any{"type": "string"}
	for _, match := range parameterInPath.FindAllStringSubmatch(pattern, -1) {
		parameters = append(parameters, map[string]any{"name": match[1], "in": "path", "required": true, "schema": text})
	}
	for _, name := range query {
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "schema": text})
	}
	return parameters
}

func schemaOf(t *testing.T, route, name string, defs map[string]map[string]any) map[string]any {
	if defs[name] == nil {
		t.Errorf("%s: the JSON Schema has no %s", route, name)
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func responses(t *testing.T, route string, text apitest.RouteText, defs map[string]map[string]any) map[string]any {
	success := map[string]any{"description": http.StatusText(text.Status)}
	switch {
	case text.Result != "":
		success["content"] = map[string]any{"application/json": map[string]any{"schema": schemaOf(t, route, text.Result, defs)}}
	case text.Media != "":
		success["content"] = map[string]any{text.Media: map[string]any{}}
	}
	all := map[string]any{strconv.Itoa(text.Status): success}
	refusal := map[string]any{"application/json": map[string]any{"schema": schemaOf(t, route, "Refusal", defs)}}
	for _, status := range text.Also {
		other := map[string]any{"description": http.StatusText(status)}
		if status >= http.StatusBadRequest {
			other["content"] = refusal
		}
		all[strconv.Itoa(status)] = other
	}
	all["default"] = map[string]any{"description": "Refusal", "content": refusal}
	return all
}

// bodySchema returns the schema of a body. That of a command has no type, and what the
// address says is optional in it.
func bodySchema(t *testing.T, route, name string, defs map[string]map[string]any) map[string]any {
	switch name {
	case "":
		return map[string]any{"type": "object", "additionalProperties": false}
	case "*":
		return map[string]any{"type": "object"}
	}
	def, ok := defs[name]
	properties, _ := def["properties"].(map[string]any)
	if _, isCommand := properties["command_id"]; !ok || !isCommand {
		return schemaOf(t, route, name, defs)
	}
	properties = maps.Clone(properties)
	delete(properties, "type")
	required := slices.DeleteFunc(slices.Clone(def["required"].([]any)), func(field any) bool {
		return slices.Contains([]any{"type", "command_id", "session_id", "request_id"}, field)
	})
	body := maps.Clone(def)
	body["properties"], body["required"] = properties, required
	return body
}

// reachableSchemas returns the definitions that paths refer to, directly or not.
func reachableSchemas(t *testing.T, paths any, defs map[string]map[string]any) map[string]any {
	schemas := map[string]any{}
	var visit func(v any)
	visit = func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range reference.FindAllSubmatch(data, -1) {
			if name := string(match[1]); schemas[name] == nil && defs[name] != nil {
				schemas[name] = defs[name]
				visit(defs[name])
			}
		}
	}
	visit(paths)
	return schemas
}

// checkReferences fails when the document refers to a schema that it does not have, or
// names two operations alike.
func checkReferences(t *testing.T, data []byte) {
	var document struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	for _, match := range reference.FindAllSubmatch(data, -1) {
		if document.Components.Schemas[string(match[1])] == nil {
			t.Errorf("openapi.json refers to %s, which it does not define", match[1])
		}
	}
	ids := map[string]bool{}
	for path, operations := range document.Paths {
		for method, operation := range operations {
			if operation.OperationID == "" || ids[operation.OperationID] {
				t.Errorf("%s %s: the operationId %q is missing or taken", method, path, operation.OperationID)
			}
			ids[operation.OperationID] = true
		}
	}
}
