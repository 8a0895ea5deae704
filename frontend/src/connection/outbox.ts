import { answerTo, type DurableCommand, type Entry } from '@/wire/commands'

/**
 * Outbox stores commands until the server has acknowledged them, across reconnects and reloads. A
 * command may reach the server more than once; its command_id gives it one effect. Times are
 * milliseconds.
 */
export class Outbox {
  private list: readonly Entry[]

  /** key is the storage key of one person's commands; see {@link Outbox.open}. */
  constructor(
    private readonly storage: Pick<Storage, 'getItem' | 'setItem'>,
    private key: string,
    private readonly changed: (entries: readonly Entry[]) => void = () => {},
  ) {
    this.list = read(storage, key)
  }

  /** Switches to the commands stored under another key. The current ones stay stored under theirs. */
  open(key: string): void {
    if (key === this.key) return
    this.key = key
    this.list = read(this.storage, key)
    this.changed(this.list)
  }

  /** Oldest first. */
  get entries(): readonly Entry[] {
    return this.list
  }

  find(commandID: string): Entry | undefined {
    return this.list.find((e) => e.command.command_id === commandID)
  }

  /**
   * Adds a command. It returns false if an answer to the same request is in flight, because a
   * second click is not a second decision.
   */
  add(command: DurableCommand, now: number): boolean {
    if (command.type === 'pending_request_response' && answerTo(this.list, command.request_id)) return false
    this.keep([...this.list, { command, created_at: now, sent_at: null }])
    return true
  }

  /** Writes one command to a connection. */
  send(commandID: string, send: (command: DurableCommand) => boolean, now: number): void {
    const entry = this.find(commandID)
    if (entry && send(entry.command)) this.keep(this.list.map((e) => (e === entry ? { ...e, sent_at: now } : e)))
  }

  /** Writes all commands to a connection, in order, until it accepts no more. */
  sendAll(send: (command: DurableCommand) => boolean, now: number): void {
    let going = true
    this.keep(
      this.list.map((e) => {
        going &&= send(e.command)
        return going ? { ...e, sent_at: now } : e
      }),
    )
  }

  /** Removes an acknowledged command and returns it. */
  settle(commandID: string): Entry | undefined {
    const entry = this.find(commandID)
    if (entry) this.keep(this.list.filter((e) => e !== entry))
    return entry
  }

  /** Removes a command that was never sent, and reports whether it did. */
  cancel(commandID: string): boolean {
    const entry = this.find(commandID)
    if (!entry || entry.sent_at !== null) return false
    this.keep(this.list.filter((e) => e !== entry))
    return true
  }

  clear(): void {
    this.keep([])
  }

  private keep(list: readonly Entry[]): void {
    this.list = list
    try {
      this.storage.setItem(this.key, JSON.stringify(list))
    } catch {
      // Storage is full or blocked: the commands do not survive a reload.
    }
    this.changed(list)
  }
}

function read(storage: Pick<Storage, 'getItem'>, key: string): readonly Entry[] {
  try {
    const list: unknown = JSON.parse(storage.getItem(key) ?? '[]')
    return Array.isArray(list) ? list.filter((e) => typeof e?.command?.command_id === 'string') : []
  } catch {
    return []
  }
}
