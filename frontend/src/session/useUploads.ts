import { computed, onScopeDispose, ref, type Ref } from 'vue'
import { errorMessage } from '@/connection/errorMessage'
import { announce } from '@/ui/announce'
import { bytes } from '@/ui/numbers'
import type { AttachmentInfo } from '@/wire/messages.gen'
import { MAX_COUNT, MAX_SIZE, MAX_TOTAL, upload } from './attachments'
import { words } from './words'

/** Upload is a file that is being uploaded or waits to be. */
interface Upload {
  key: number
  name: string
  size: number
  /** The uploaded part, 0 to 1. */
  progress: number
  cancel: AbortController
}

// The server accepts this many large bodies of a person at once; others would wait there, for up to
// a minute.
const MAX_CONCURRENT = 2

/** limited returns a function that runs at most max tasks at once, in the order of the calls. */
function limited(max: number) {
  let running = 0
  const waiting: (() => void)[] = []
  return async (task: () => Promise<void>) => {
    if (running < max) running++
    else await new Promise<void>((start) => waiting.push(start))
    await task()
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

/**
 * useUploads uploads files and adds them to list. Messages refer to files that the server already
 * has, so that a reload, restart or long queue loses none. Running uploads are cancelled with the
 * scope.
 */
export function useUploads(list: Ref<AttachmentInfo[]>) {
  const uploads = ref<Upload[]>([])
  /** Why files were not added, as sentences. */
  const problems = ref<string[]>([])
  const inTurn = limited(MAX_CONCURRENT)
  const total = computed(() => [...list.value, ...uploads.value].reduce((sum, a) => sum + a.size, 0))
  let lastKey = 0
  let disposed = false
  onScopeDispose(() => {
    disposed = true
    for (const u of uploads.value) u.cancel.abort()
  })

  function problemOf(file: File): string {
    if (list.value.length + uploads.value.length >= MAX_COUNT) return words.attach.tooMany(MAX_COUNT)
    if (file.size === 0) return words.attach.empty(file.name)
    if (file.size > MAX_SIZE) return words.attach.tooLarge(file.name, bytes(file.size), bytes(MAX_SIZE))
    return total.value + file.size > MAX_TOTAL ? words.attach.tooMuch(bytes(MAX_TOTAL)) : ''
  }

  async function add(files: readonly File[]) {
    problems.value = []
    const sending: Promise<void>[] = []
    for (const file of files) {
      const problem = problemOf(file)
      if (problem === '') sending.push(start(file))
      else if (!problems.value.includes(problem)) problems.value.push(problem)
    }
    await Promise.all(sending)
  }

  async function start(file: File) {
    const key = ++lastKey
    const cancel = new AbortController()
    uploads.value.push({ key, name: file.name, size: file.size, progress: 0, cancel })
    await inTurn(() => send(file, key, cancel.signal))
    uploads.value = uploads.value.filter((u) => u.key !== key)
  }

  async function send(file: File, key: number, cancelled: AbortSignal) {
    try {
      cancelled.throwIfAborted()
      const stored = await upload(
        file,
        (part) => {
          const entry = uploads.value.find((u) => u.key === key)
          if (entry) entry.progress = part
        },
        cancelled,
      )
      if (disposed) return
      list.value = [...list.value, stored]
      announce(words.attach.added(stored.name))
    } catch (err) {
      if (cancelled.aborted || disposed) return
      const why = errorMessage(err)
      // Some of the server's messages already name the file.
      problems.value.push(why.includes(file.name) ? why : words.attach.failed(file.name, why))
    }
  }

  function remove(attachment: AttachmentInfo) {
    list.value = list.value.filter((a) => a !== attachment)
    announce(words.attach.removed(attachment.name))
    problems.value = []
  }

  return { uploads, problems, add, remove }
}
