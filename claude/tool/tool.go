// Package tool creates MCP servers that run in this process, for the sessions of package claude: from
// Go functions, whose schemas come from their types, or from servers of the official Go SDK for MCP.
//
// It is a separate package because package claude depends only on the standard library and uuid.
//
//	weather := tool.New("weather", "Returns the weather of a city.",
//		func(ctx context.Context, in struct{ City string }) (string, error) { … })
//	options.MCPServers = map[string]claude.MCPServerConfig{"local": tool.Server("local", weather)}
//
// Claude needs permission to call a tool: [claude.Options.CanUseTool] receives a request with the name
// mcp__local__weather, unless [claude.Options.AllowedTools] contains that name.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/claude"
)

// Tool is a function that Claude may call.
type Tool struct {
	declaration mcp.Tool
	add         func(s *mcp.Server, declaration *mcp.Tool)
}

// New returns a tool. In is a struct or a map with the arguments. Its JSON Schema comes from its fields
// and their json and jsonschema tags; a jsonschema tag is the description of its field. The arguments
// are validated before fn is called. Claude receives Out: a string as text, anything else as JSON, and
// a struct or a map also as structured content with a schema. Claude also receives an error or a panic
// of fn.
//
// New panics if In has no schema, such as a function or a channel.
func New[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) Tool {
	if _, err := jsonschema.For[In](nil); err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
	return Tool{declaration: mcp.Tool{Name: name, Description: description}, add: func(s *mcp.Server, t *mcp.Tool) {
		if isStructured(reflect.TypeFor[Out]()) {
			mcp.AddTool(s, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
				out, err := call(ctx, fn, in)
				return nil, out, err
			})
			return
		}
		mcp.AddTool(s, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			out, err := call(ctx, fn, in)
			if err != nil {
				return nil, nil, err
			}
			text, isString := any(out).(string)
			if !isString {
				encoded, err := json.Marshal(out)
				if err != nil {
					return nil, nil, err
				}
				text = string(encoded)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	}}
}

// isStructured reports whether values of the type are JSON objects.
func isStructured(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) && !t.Implements(reflect.TypeFor[json.Marshaler]())
}

// call calls fn and turns a panic into an error, because a tool must not crash the process.
func call[In, Out any](ctx context.Context, fn func(context.Context, In) (Out, error), in In) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &claude.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(ctx, in)
}

// ReadOnly returns the tool, marked as one that changes nothing. The CLI may then call it in parallel
// with other tools.
func (t Tool) ReadOnly() Tool {
	t.declaration.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	return t
}

// Server returns an MCP server with tools. The server reports name as its own name; Claude uses the key
// in [claude.Options.MCPServers]. Server panics if two tools have the same name.
func Server(name string, tools ...Tool) claude.LocalServer {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	names := map[string]bool{}
	for _, t := range tools {
		if names[t.declaration.Name] {
			panic(fmt.Sprintf("tool %q is there twice", t.declaration.Name))
		}
		names[t.declaration.Name] = true
		t.add(s, &t.declaration)
	}
	return Serve(s)
}

// Serve returns s as a server for [claude.Options.MCPServers]. It may serve several sessions at once.
func Serve(s *mcp.Server) claude.LocalServer {
	return claude.LocalServer{Serve: func(ctx context.Context, conn claude.MCPConn) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		session, err := s.Connect(ctx, &transport{ctx: ctx, cancel: cancel, conn: conn}, nil)
		if err != nil {
			return err
		}
		return session.Wait()
	}}
}

// transport is the connection of a server to the CLI.
type transport struct {
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	conn   claude.MCPConn
}

func (t *transport) Connect(context.Context) (mcp.Connection, error) { return t, nil }

func (t *transport) Read(context.Context) (jsonrpc.Message, error) {
	line, err := t.conn.Recv(t.ctx)
	if err != nil {
		return nil, io.EOF
	}
	return jsonrpc.DecodeMessage(line)
}

func (t *transport) Write(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return t.conn.Send(ctx, line)
}

func (t *transport) Close() error {
	t.cancel()
	return nil
}

func (t *transport) SessionID() string { return "" }
