// Package protocol holds the JSON Schema of the CLI's control protocol. claude/protocol reads it.
package protocol

import _ "embed"

// Schema is the text of protocol.schema.json.
//
//go:embed protocol.schema.json
var Schema []byte
