// @vitest-environment jsdom
import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { FolderTrust } from '@/wire/messages.gen'
import { RefusedError, rest } from '@/connection/rest'
import { onTrustRequired } from '@/connection/trust'
import DialogHost from '@/ui/DialogHost.vue'
import { openDialog } from '@/ui/dialogs'
import TrustDialog from './TrustDialog.vue'

vi.setConfig({ testTimeout: 30_000 })

const trust: FolderTrust = {
  folder: '/work',
  digest: 'sha256:1',
  gone: [],
  told: ['/work/CLAUDE.md'],
  can_leave_out: true,
  before: null,
  items: [
    {
      kind: 'hook',
      danger: 'runs',
      file: '/work/.claude/settings.json',
      name: 'Stop',
      text: 'touch \u202ea',
      cut: false,
      new: false,
    },
  ],
}
const bodies: Record<string, unknown>[] = []
let answers: Response[] = []
const refusal = (t = trust) =>
  new Response(JSON.stringify({ error: { code: 'folder_untrusted', message: 'Look.', folder_trust: t } }), {
    status: 409,
  })
const made = () => new Response('{"result":"applied","session_id":"s"}')

beforeEach(() => {
  setActivePinia(createPinia())
  mount(DialogHost, { attachTo: document.body })
  onTrustRequired((t) => openDialog(TrustDialog, { trust: t }))
  bodies.length = 0
  vi.stubGlobal(
    'fetch',
    vi.fn(async (_: string, init: RequestInit) => {
      bodies.push(JSON.parse(init.body as string))
      return answers.shift()!
    }),
  )
})
afterEach(() => vi.unstubAllGlobals())

async function press(name: string) {
  const button = await vi.waitFor(
    () => {
      const found = [...document.querySelectorAll('dialog button')].find((b) => b.textContent?.trim() === name)
      if (!(found instanceof HTMLElement) || found.getAttribute('aria-disabled')) throw new Error(`no button ${name}`)
      return found
    },
    { timeout: 60_000 },
  )
  button.click()
}

test('a start that is refused because of the folder’s settings is sent again with the person’s decision', async () => {
  answers = [refusal(), refusal({ ...trust, digest: 'sha256:2' }), made()]
  const starting = rest.create({ command_id: 'c1', cwd: '/work', prompt: 'x' })
  await press('Trust this folder and start')
  await press('Trust this folder and start') // it changed while the first was read
  expect((await starting).session_id).toBe('s')
  expect(bodies.map((b) => b['trust'])).toEqual([undefined, 'sha256:1', 'sha256:2'])
  expect(new Set(bodies.map((b) => b['command_id'])).size).toBe(3)
  expect(bodies.every((b) => b['cwd'] === '/work')).toBe(true)
  await vi.waitFor(() => expect(document.querySelector('dialog')).toBeNull())
})

test('the settings can be ignored', async () => {
  answers = [refusal(), made()]
  const resuming = rest.resume('s')
  await press('Start without these settings')
  await resuming
  expect(bodies[1]).toMatchObject({ without_settings: true })
  expect(bodies[1]).not.toHaveProperty('trust')
})

test('a person who cancels is told why the start was refused, and nothing more is sent', async () => {
  answers = [refusal({ ...trust, can_leave_out: false })]
  const refused = rest.fork('s', 'c1').catch((err: unknown) => err)
  await vi.waitFor(() => expect(document.querySelector('dialog')).not.toBeNull())
  expect(document.body.textContent).not.toContain('\u202e')
  expect([...document.querySelectorAll('dialog button')].map((b) => b.textContent?.trim())).toEqual([
    'Cancel',
    'Trust this folder and start',
  ])
  document.querySelector('dialog')!.dispatchEvent(new Event('cancel', { cancelable: true }))
  expect(await refused).toBeInstanceOf(RefusedError)
  expect(bodies).toHaveLength(1)
  await vi.waitFor(() => expect(document.querySelector('dialog')).toBeNull())
})

test('settings that the machine refuses can’t be trusted', async () => {
  answers = [refusal({ ...trust, machine_refuses: true }), made()]
  const starting = rest.create({ command_id: 'c1', cwd: '/work', prompt: 'x' })
  await vi.waitFor(() => expect(document.querySelector('dialog')).not.toBeNull())
  expect(document.body.textContent).toContain('This machine doesn’t load the settings of this folder.')
  expect([...document.querySelectorAll('dialog button')].map((b) => b.textContent?.trim())).toEqual([
    'Cancel',
    'Start without these settings',
  ])
  await press('Start without these settings')
  await starting
  expect(bodies[1]).toMatchObject({ without_settings: true })
})

test('other refusals open no dialog', async () => {
  answers = [new Response('{"error":{"code":"running","message":"It runs."}}', { status: 409 })]
  await expect(rest.resume('s')).rejects.toThrow('It runs.')
  await vi.waitFor(() => expect(document.querySelector('dialog')).toBeNull())
})
