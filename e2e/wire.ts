// The wire as a script sees it: REST with a token, and raw WebSockets that live
// in a page, with the cookie of its browser and the key of its origin.
import { randomUUID } from 'node:crypto'

import type { APIRequestContext, Page } from '@playwright/test'

import type { Server } from './server.ts'
import { token } from './token.ts'

export interface Request {
  request_id: string
  request_type: 'tool_approval' | 'ask_user_question'
  tool_name: string
  tool_input: Record<string, unknown>
  input_hash: string
  status: string
  agent_id: string | null
}
export interface ProcessState {
  type: 'process_state'
  version: number
  session_id: string
  state: 'starting' | 'assistant_turn' | 'user_turn' | 'dead'
  error: string | null
  kill_reason: string | null
  queued_messages: number
  pending_requests: Request[]
}
export interface Item {
  seq: number
  kind: string
  text?: string
  result?: string
  result_bytes?: number
  [field: string]: unknown
}
export interface Ack {
  command_id: string
  result: 'applied' | 'already_resolved' | 'stale' | 'rejected'
  error?: { code: string; message: string }
  resolved?: { outcome: string; by: string | null; at: number; summary: string }
}

export class REST {
  constructor(
    private readonly http: APIRequestContext,
    private readonly server: Server,
  ) {}

  private headers = { Authorization: `Bearer ${token}` }

  async get<T>(path: string): Promise<T> {
    const answer = await this.http.get(this.server.url + path, { headers: this.headers })
    if (!answer.ok()) throw new Error(`GET ${path}: ${answer.status()} ${await answer.text()}`)
    return answer.json()
  }
  async post<T>(path: string, body: unknown): Promise<T> {
    const answer = await this.http.post(this.server.url + path, { headers: this.headers, data: body ?? {} })
    if (!answer.ok()) throw new Error(`POST ${path}: ${answer.status()} ${await answer.text()}`)
    return answer.json()
  }

  // Starts a session and returns its id.
  async start(words: string, more: Record<string, unknown> = {}): Promise<string> {
    const made = await this.post<{ session_id: string }>('/api/sessions', {
      cwd: this.server.workspace,
      prompt: words,
      ...more,
    })
    return made.session_id
  }
  async state(session: string): Promise<ProcessState> {
    const one = await this.get<{ process_state: ProcessState }>(`/api/sessions/${session}`)
    return one.process_state
  }
  async transcript(session: string): Promise<Item[]> {
    const page = await this.get<{ items: Item[] }>(`/api/sessions/${session}/transcript?limit=500`)
    return page.items
  }
  // What Claude has said so far, each text in its line.
  async said(session: string): Promise<string> {
    const items = await this.transcript(session)
    return items
      .filter((i) => i.kind === 'text')
      .map((i) => i.text)
      .join('\n')
  }
}

// A WebSocket inside the page. It needs no page of ours but its origin.
export class Tab {
  private constructor(
    private readonly page: Page,
    private readonly name: string,
  ) {}

  static async open(page: Page): Promise<Tab> {
    const name = `tab-${randomUUID()}`
    await page.evaluate(
      (name) =>
        new Promise<void>((resolve, reject) => {
          const socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws', [
            'sayso',
            `sayso.page-key.${localStorage.getItem('sayso:page-key')}`,
          ])
          const acks = new Map<string, unknown>()
          const states = new Map<string, { version: number }>()
          const take = (frame: any) => {
            if (frame.type === 'batch') frame.frames.forEach(take)
            if (frame.type === 'ack') acks.set(frame.command_id, frame)
            if (frame.type === 'active_processes') (frame.processes.forEach(take), resolve())
            if (frame.type === 'process_state' && !(states.get(frame.session_id)!?.version > frame.version))
              states.set(frame.session_id, frame)
          }
          socket.onmessage = (message) => take(JSON.parse(message.data))
          socket.onclose = (closed) => reject(new Error(`closed with ${closed.code} ${closed.reason}`))
          Object.assign(window, { [name]: { socket, acks, states } })
        }),
      name,
    )
    return new Tab(page, name)
  }

  // Sends a command and returns its ack.
  async command(body: Record<string, unknown>): Promise<Ack> {
    const command_id = randomUUID()
    return this.page.evaluate(
      async ([name, frame]) => {
        const { socket, acks } = (window as any)[name as string]
        socket.send(JSON.stringify(frame))
        const until = Date.now() + 10_000
        while (!acks.has((frame as any).command_id)) {
          if (Date.now() > until) throw new Error('no ack within 10 s')
          await new Promise((r) => setTimeout(r, 5))
        }
        return acks.get((frame as any).command_id)
      },
      [this.name, { command_id, ...body }] as const,
    )
  }

  async state(session: string): Promise<ProcessState | null> {
    return this.page.evaluate(([name, session]) => (window as any)[name].states.get(session) ?? null, [
      this.name,
      session,
    ] as const)
  }

  async close(): Promise<void> {
    await this.page.evaluate((name) => (window as any)[name].socket.close(), this.name)
  }
}
