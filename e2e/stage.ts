// A server made of frames: the built app shows whatever state a test wants to
// look at, with no process behind it. The page, its headers and what else REST
// tells are the real server's.
import { readFileSync } from 'node:fs'

import type { Page, WebSocketRoute } from '@playwright/test'

import type {
  Bookmark,
  Command,
  Hello,
  Item,
  Preview,
  ProcessState,
  Request,
  ServerFrame,
} from '../frontend/src/wire/messages.gen.ts'
import { root } from './machine.ts'

const golden = <T>(name: string): T =>
  JSON.parse(readFileSync(`${root}wire/testdata/messages/${name}.json`, 'utf8')) as T

export class Stage {
  /** Of the one session that is on stage. */
  readonly id = golden<ProcessState>('process_state.idle').session_id
  /** Of the person who is signed in. */
  readonly userID = golden<Hello>('hello').user_id!
  /** What the page has sent. */
  readonly commands: Command[] = []
  /** What the server says of requests, by their ids; of others it knows nothing. */
  readonly previews = new Map<string, Preview>()
  /** Whether anything is answered, or the line is only open. */
  silent = false
  /** Whether commands are taken without a word. */
  deaf = false
  /** Whether a connection is taken. */
  up = true
  version = golden<Hello>('hello').server_version
  user: Hello['user'] = { name: 'ada', role: 'admin' }
  /** What else hello says. */
  hello: Partial<Hello> = {}
  /** What the person keeps about sessions. */
  bookmarks: Bookmark[] = []
  /** Answers a command in the place of the plain ack; null for that. */
  respond: (command: Command) => ServerFrame[] | null = () => null

  private states = 100
  private seq = 0
  private readonly items: Item[] = []
  private state: ProcessState
  /** Other sessions, by their ids. */
  private readonly others = new Map<string, ProcessState>()
  private line: WebSocketRoute | undefined

  private constructor(readonly page: Page) {
    this.state = this.process([])
  }

  /** Puts up a stage in a page that has opened nothing yet. */
  static async in(page: Page): Promise<Stage> {
    const stage = new Stage(page)
    await page.routeWebSocket('**/ws', (line) => stage.connect(line))
    await page.route('**/api/pending/*/preview', (route) => {
      const said = stage.previews.get(decodeURIComponent(route.request().url().split('/').at(-2)!))
      return route.fulfill({ json: said ?? {} })
    })
    // How one ended is what its transcript tells.
    await page.route(/\/api\/pending\/[^/]+$/, (route) => route.fulfill({ json: { status: 'withdrawn' } }))
    // Nothing that the tests before this one have said or changed is a person's habit here.
    await page.route('**/api/templates', (route) => route.fulfill({ json: { templates: [] } }))
    await page.route('**/api/preferences', (route) =>
      route.fulfill({ json: { keys: {}, single_keys: true, language: 'en' } }),
    )
    await page.route('**/api/bookmarks', (route) => route.fulfill({ json: { bookmarks: [] } }))
    await page.route('**/api/models', (route) => route.fulfill({ json: { cli_version: '', models: [] } }))
    await page.route('**/api/sessions/*/catalog', (route) =>
      route.fulfill({ json: { running: false, cli_version: '', commands: [], agents: [], models: [] } }),
    )
    await page.route('**/api/sessions/*/git', (route) =>
      route.fulfill({ json: { repository: 'missing', branch: '', head: '', uncommitted: 0, more: false, base: '' } }),
    )
    await page.route('**/api/sessions?*', (route) => route.fulfill({ json: { sessions: [], next: null } }))
    return stage
  }

  /** The person has read the first block of the session, an hour ago. */
  readBefore(): void {
    this.bookmarks = [{ session_id: this.id, pinned_at: null, seen: 1, seen_at: Date.now() / 1000 - 3_600, at: 1 }]
  }

  async open(url: string): Promise<void> {
    await this.page.goto(`${url}/sessions/${this.id}`)
  }

  /** The state that has these requests open. */
  private process(requests: Request[], more: Partial<ProcessState> = {}): ProcessState {
    const { pending_request: _, ...idle } = golden<ProcessState>('process_state.idle')
    return {
      ...idle,
      version: ++this.states,
      title: 'Fix the login',
      cwd: '/w',
      state: requests.length > 0 ? 'assistant_turn' : 'user_turn',
      pending_requests: requests,
      items: this.items.length,
      ...more,
    }
  }

  private connect(line: WebSocketRoute): void {
    if (!this.up) return void line.close({ code: 1012 })
    this.line = line
    line.onMessage((message) => {
      const command = JSON.parse(String(message)) as Command
      if (this.silent) return void (command.type !== 'ping' && this.commands.push(command))
      if (command.type === 'subscribe')
        return this.send(
          command.session_id === this.id
            ? this.transcript()
            : ({ ...this.transcript(), session_id: command.session_id, next: 0, items: [], total: 0 } as ServerFrame),
        )
      if (command.type !== 'ping' && command.type !== 'looking') this.commands.push(command)
      const said = this.respond(command)
      if (said) return this.send(...said)
      if ('command_id' in command && (!this.deaf || command.type === 'ping'))
        this.send({ type: 'ack', command_id: command.command_id, result: 'applied' } as ServerFrame)
    })
    if (this.silent) return
    this.send(
      {
        ...golden<Hello>('hello'),
        user: this.user,
        server_version: this.version,
        server_time: Date.now() / 1000,
        ...this.hello,
      },
      { type: 'active_processes', processes: [this.state, ...this.others.values()] },
      { type: 'bookmarks', bookmarks: this.bookmarks },
    )
  }

  private transcript(): ServerFrame {
    return {
      type: 'transcript',
      session_id: this.id,
      from: 0,
      next: this.items.length,
      items: this.items,
      total: this.items.length,
      live: null,
    }
  }

  send(...frames: ServerFrame[]): void {
    for (const frame of frames) this.line?.send(JSON.stringify(frame))
  }

  /** Has these requests open from now on, and no others. */
  show(requests: Request[], more: Partial<ProcessState> = {}): void {
    this.state = this.process(requests, more)
    this.send(this.state)
  }

  /** The same in another session, which is there from now on. */
  showIn(session: string, title: string, requests: Request[]): void {
    const state = this.process(requests, { session_id: session, title, cwd: `/w/${title}` })
    this.others.set(session, state)
    this.send(state)
  }

  /** Adds to the transcript. */
  say(...items: (Record<string, unknown> & { kind: Item['kind'] })[]): void {
    for (const item of items) {
      const seq = ++this.seq
      this.items.push({
        seq,
        rev: seq,
        key: `k${seq}`,
        at: Date.now() / 1000,
        agent_id: null,
        ...item,
      } as unknown as Item)
    }
    this.send(this.transcript())
  }

  /** Ends the connection: as a server does that goes, unless the code says otherwise. */
  async hangUp(code = 1012): Promise<void> {
    await this.line?.close({ code })
  }
}
