/** Replaces part of a field as if it were typed, so that it can be undone, and puts the caret behind it. */
export function insertText(field: HTMLTextAreaElement, text: string, from: number, to: number): void {
  field.focus()
  field.setSelectionRange(from, to)
  // The standard has no other way that keeps the undo history of a field.
  if ((document as Partial<Document>).execCommand?.('insertText', false, text)) return
  field.setRangeText(text, from, to, 'end')
  field.dispatchEvent(new InputEvent('input', { bubbles: true, data: text, inputType: 'insertText' }))
}
