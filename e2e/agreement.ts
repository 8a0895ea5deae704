// Whether everybody knows the same of the open requests once all is quiet: a fresh tab, the oldest
// tab of a test, the rows in the database, the journals of the processes, and the CLIs themselves.
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'

import type { Page } from '@playwright/test'

import { token } from './token.ts'

// How long requests and answers may be on their way.
const QUIET_MS = 15_000

export interface Checked {
  url: string
  since: number // Unix seconds: processes that were started later
  tab?: Page // the oldest that is open
  pageKey?: string // of who sees everything; another person's page knows only a part
}

interface Views {
  rows: { request_id: string }[]
  waiting: string[] | null
  journal: string[] | null
  claude: string[] | null
  differences: string[]
}

interface Known {
  whole: boolean // the page is connected, and its person sees everything
  sessions: Record<string, string[]>
  cards: string[] // ids of requests
}

async function get<T>(url: string): Promise<T> {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}`, Connection: 'close' } })
  if (!answer.ok) throw new Error(`GET ${url}: ${answer.status}`)
  return answer.json() as Promise<T>
}

type Frame = { type: string; processes?: State[]; frames?: Frame[] }
type State = { session_id: string; pending_requests: { request_id: string }[] }

// What a new WebSocket is told first, by session. It reads what a server sends and no more of the protocol.
function freshTab(url: string): Promise<Record<string, string[]>> {
  return new Promise((resolve, reject) => {
    const upgrade = request(`${url}/ws`, {
      headers: {
        Authorization: `Bearer ${token}`,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      },
    })
    upgrade.on('response', (r) => reject(new Error(`a fresh tab: ${r.statusCode}`)))
    upgrade.on('error', reject)
    upgrade.on('upgrade', (_, socket, head) => {
      let unread = head
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('a fresh tab was closed')))
      const take = () => {
        for (;;) {
          if (unread.length < 2) return
          const short = unread[1]! & 0x7f
          const begin = short === 127 ? 10 : short === 126 ? 4 : 2
          if (unread.length < begin) return
          const length =
            short === 127 ? Number(unread.readBigUInt64BE(2)) : short === 126 ? unread.readUInt16BE(2) : short
          if (unread.length < begin + length) return
          const text = (unread[0]! & 0x0f) === 1 ? unread.toString('utf8', begin, begin + length) : ''
          unread = unread.subarray(begin + length)
          if (!text) continue
          const frame = JSON.parse(text) as Frame
          const first = [frame, ...(frame.frames ?? [])].find((f) => f.type === 'active_processes')
          if (!first) continue
          resolve(Object.fromEntries(first.processes!.map((p) => [p.session_id, ids(p.pending_requests)])))
          return socket.destroy()
        }
      }
      socket.on('data', (more) => {
        unread = Buffer.concat([unread, more])
        take()
      })
      take()
    })
    upgrade.end()
  })
}

const ids = (requests: { request_id: string }[]): string[] => requests.map((r) => r.request_id).toSorted()

// What a tab knows and shows; null when it shows nothing of this server.
async function shown(tab: Page | undefined, url: string, pageKey: string | undefined): Promise<Known | null> {
  if (!tab || tab.isClosed() || new URL(tab.url()).origin !== url) return null
  const looked = tab.evaluate((pageKey) => {
    const app = (document.querySelector('#app') as any)?.__vue_app__
    const store = app?.config.globalProperties.$pinia?._s.get('sessions')
    if (!store || store.status.kind !== 'open') return null
    return {
      whole: localStorage.getItem('sayso:page-key') === pageKey,
      sessions: Object.fromEntries(
        store.all.map((s: State) => [s.session_id, s.pending_requests.map((r) => r.request_id).sort()]),
      ),
      cards: [...document.querySelectorAll<HTMLElement>('[data-request-id]')].map((c) => c.dataset.requestId!),
    }
  }, pageKey)
  // A page that a test has put to sleep says nothing.
  return Promise.race([looked, new Promise<null>((r) => setTimeout(r, 2_000, null))]).catch(() => null)
}

// What differs in one look, for people; '' for nothing.
async function compare({ url, since, tab, pageKey }: Checked): Promise<string> {
  const { processes } = await get<{ processes: { session_id: string; started_at: number }[] }>(`${url}/api/processes`)
  const recent = processes.filter((p) => p.started_at >= since).map((p) => p.session_id)
  if (recent.length === 0) return ''
  const told = await freshTab(url)
  const oldest = await shown(tab, url, pageKey)
  const report: string[] = []
  for (const session of recent) {
    const views = await get<Views>(`${url}/api/processes/${session}/requests`)
    const rows = ids(views.rows)
    const differences = [...views.differences]
    const fresh = told[session] ?? []
    if (`${fresh}` !== `${rows}`) differences.push('A fresh tab is told something else than the database has.')
    const known = oldest?.sessions[session]
    if (known ? `${known}` !== `${rows}` : oldest?.whole && rows.length > 0)
      differences.push('The oldest tab knows something else than the database has.')
    if (differences.length === 0) continue
    const line = (name: string, list: string[] | null | undefined) =>
      `  ${name.padEnd(10)} ${list ? `[${list.join(' ')}]` : 'not known'}`
    report.push(
      [
        `session ${session}`,
        line('fresh tab', fresh),
        line('oldest tab', known),
        line('database', rows),
        line('memory', views.waiting),
        line('journal', views.journal),
        line('Claude', views.claude),
        ...differences.map((d) => `  ${d}`),
      ].join('\n'),
    )
  }
  const open = new Set(Object.values(told).flat())
  const ours = new Set(recent.flatMap((s) => oldest?.sessions[s] ?? []))
  const dead = oldest?.cards.filter((id) => ours.has(id) && !open.has(id)) ?? []
  if (dead.length > 0) report.push(`The oldest tab shows cards of requests that are not open: ${dead.join(' ')}`)
  return report.join('\n')
}

/** Fails unless all agree within some seconds. */
export async function checkAgreement(checked: Checked, quietMS = QUIET_MS): Promise<void> {
  const until = Date.now() + quietMS
  for (;;) {
    const differs = await compare(checked).catch(String)
    if (differs === '') return
    if (Date.now() > until) throw new Error(`Not the same is known of the open requests:\n${differs}`)
    await new Promise((r) => setTimeout(r, 250))
  }
}
