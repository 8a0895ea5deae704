package claude

// body is the content of a message, as spans of the line. The pass that routes the line finds the
// spans, so nothing is scanned twice; they are decoded on demand.
type body struct {
	err                                   error // why it cannot be decoded
	id, model, stopReason, content, usage []byte
	blocks                                []blockSpans // of content if it is an array; its memory is reused for every line
}

type blockSpans struct {
	raw, kind, text, id, name, input, toolUseID, content, isError []byte
}

// reset drops the line, so that its memory is not retained while a session idles.
func (m *body) reset() {
	clear(m.blocks)
	*m = body{blocks: m.blocks[:0]}
}

// read returns the index after the object that begins at b[i], or -1. Like [skipComposite] it
// checks only brackets and strings. It stores other errors in err.
func (m *body) read(b []byte, i int) int {
	m.reset()
	end, err := object(b, i, func(key []byte, i int) int {
		end := 0
		if string(key) == "content" && i < len(b) && b[i] == '[' {
			end = m.readBlocks(b, i)
		} else {
			end = skipValue(b, i)
		}
		if end < 0 {
			return -1
		}
		v := b[i:end:end]
		switch string(key) {
		case "id":
			m.id = v
		case "model":
			m.model = v
		case "stop_reason":
			m.stopReason = v
		case "usage":
			m.usage = v
		case "content":
			m.content = v
		}
		return end
	})
	if err != nil {
		m.err = err
		return skipComposite(b, i)
	}
	return end
}

// readBlocks reads the array that begins at b[i] and returns the index after it, or -1. It
// skips elements that are not objects.
func (m *body) readBlocks(b []byte, i int) int {
	m.blocks = m.blocks[:0]
	end, err := array(b, i, func(i int) int {
		if i >= len(b) || b[i] != '{' {
			return skipValue(b, i)
		}
		m.blocks = append(m.blocks, blockSpans{})
		return m.blocks[len(m.blocks)-1].read(b, i)
	})
	if err != nil {
		return -1
	}
	return end
}

func (s *blockSpans) read(b []byte, i int) int {
	end, err := object(b, i, func(key []byte, i int) int {
		end := skipValue(b, i)
		if end < 0 {
			return -1
		}
		v := b[i:end:end]
		switch string(key) {
		case "type":
			s.kind = v
		case "text", "thinking":
			s.text = v
		case "id":
			s.id = v
		case "name":
			s.name = v
		case "input":
			s.input = v
		case "tool_use_id":
			s.toolUseID = v
		case "content":
			s.content = v
		case "is_error":
			s.isError = v
		}
		return end
	})
	if err != nil {
		return -1
	}
	s.raw = b[i:end:end]
	return end
}

// decode returns the content of the body: blocks, or one text block for a plain string. valid
// means that the line is known to be valid UTF-8.
func (m *body) decode(valid bool) []ContentBlock {
	if len(m.content) == 0 {
		return nil
	}
	switch m.content[0] {
	case '"':
		return []ContentBlock{{Type: "text", Text: longText(m.content, valid), Raw: m.content}}
	case '[':
	default:
		return nil
	}
	blocks := make([]ContentBlock, len(m.blocks))
	for n := range m.blocks {
		s := &m.blocks[n]
		blocks[n] = ContentBlock{
			Type: internedText(s.kind), Text: longText(s.text, valid), ID: text(s.id), Name: text(s.name), Input: s.input,
			ToolUseID: text(s.toolUseID), Content: s.content, IsError: isTrue(s.isError), Raw: s.raw,
		}
	}
	return blocks
}

// longText decodes the string v. It skips the UTF-8 check if v is known to be valid.
func longText(v []byte, valid bool) string {
	if !valid || len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return text(v)
	}
	s, _ := unescapeAll(v[1 : len(v)-1])
	return s
}
