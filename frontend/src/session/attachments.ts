import { UnreachableError, RefusedError } from '@/connection/rest'
import { keyHeaders } from '@/connection/pagekey'
import type { AttachmentInfo, Refusal } from '@/wire/messages.gen'

/** The limits of the server, sizes in bytes; see docs/integrating/websocket.md. */
export const MAX_SIZE = 24 << 20
export const MAX_TOTAL = 32 << 20
export const MAX_COUNT = 20

/** The types that a file picker offers first. The server detects the type of a file from its bytes. */
export const ACCEPT =
  'image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.json,.yaml,.yml,.toml,.csv,.log,.go,.ts,.tsx,.vue,.js,.py,.rs,.java,.c,.h,.cpp,.sh,.sql,.patch,.diff'

export const addressOf = (attachmentID: string) => `/api/attachments/${encodeURIComponent(attachmentID)}`
export const isImage = (a: { media_type: string }) => a.media_type.startsWith('image/')

function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => {
      const text = String(reader.result)
      resolve(text.slice(text.indexOf(',') + 1))
    }
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'))
    reader.readAsDataURL(file)
  })
}

/**
 * Uploads a file, which the server keeps until a message refers to it. progress gets the uploaded
 * part, 0 to 1. It throws a {@link RefusedError} or {@link UnreachableError} if it fails.
 */
export async function upload(
  file: File,
  progress: (part: number) => void,
  signal: AbortSignal,
): Promise<AttachmentInfo> {
  const body = JSON.stringify({ name: file.name, data: await base64Of(file) })
  signal.throwIfAborted()
  // fetch does not report the progress of an upload.
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest()
    call.open('POST', '/api/attachments')
    call.setRequestHeader('Content-Type', 'application/json')
    call.setRequestHeader('Accept', 'application/json')
    for (const [name, value] of Object.entries(keyHeaders())) call.setRequestHeader(name, value)
    call.upload.onprogress = (ev) => progress(ev.total > 0 ? ev.loaded / ev.total : 0)
    call.onerror = () => reject(new UnreachableError())
    call.onload = () => {
      let answer: unknown = null
      try {
        answer = JSON.parse(call.responseText)
      } catch {
        reject(new UnreachableError())
        return
      }
      if (call.status === 201) {
        resolve(answer as AttachmentInfo)
        return
      }
      const error = (answer as Refusal | null)?.error
      reject(RefusedError.of(call.status, error))
    }
    signal.addEventListener(
      'abort',
      () => {
        call.abort()
        reject(signal.reason)
      },
      { once: true },
    )
    call.send(body)
  })
}
