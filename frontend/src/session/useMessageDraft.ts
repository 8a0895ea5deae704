import { useDraft } from '@/pending/drafts'
import type { Attachment, AttachmentInfo } from '@/wire/messages.gen'
import { useRefusedMessage } from './useRefusedMessage'

/**
 * useMessageDraft holds the draft of a message to a session. A message that the server refused
 * returns to the draft, unless the person has written something else meanwhile.
 */
export function useMessageDraft(sessionID: string) {
  const { value: text } = useDraft<string>(`message:${sessionID}`, () => '')
  const { value: attached } = useDraft<AttachmentInfo[]>(`attached:${sessionID}`, () => [])
  const isEmpty = () => text.value.trim() === '' && attached.value.length === 0

  const { refused, restored, dismiss } = useRefusedMessage(
    () => sessionID,
    (message) => {
      if (!isEmpty()) return false
      append(message.text, asInfo(message.attachments))
      return true
    },
  )

  /** Adds a message below what is written. */
  function append(more: string, files: readonly AttachmentInfo[] = []) {
    text.value = text.value.trim() === '' ? more : `${text.value}\n\n${more}`
    attached.value = [...attached.value, ...files]
  }

  /** Inserts a saved reply on a new line. */
  function insert(template: string) {
    text.value = text.value.trim() === '' ? template : `${text.value.trimEnd()}\n${template}`
  }

  /** Returns the message to send, and empties the draft. */
  function take(): { text: string; attachments: Attachment[] } {
    dismiss()
    const message = {
      text: text.value.trim(),
      attachments: attached.value.map(({ attachment_id, name, media_type }) => ({
        attachment_id: attachment_id!,
        name,
        media_type: media_type as Attachment['media_type'] & string,
      })),
    }
    text.value = ''
    attached.value = []
    return message
  }

  function putBack() {
    if (!refused.value) return
    append(refused.value.text, asInfo(refused.value.attachments))
    dismiss()
  }

  return { text, attached, append, insert, take, refused, restored, putBack, dismiss }
}

// Commands do not contain the sizes of files.
const asInfo = (attachments: readonly Attachment[] = []): AttachmentInfo[] =>
  attachments.map((a) => ({
    attachment_id: a.attachment_id ?? '',
    name: a.name ?? '',
    media_type: a.media_type ?? '',
    size: 0,
  }))
