import { flushPromises } from '@vue/test-utils'
import { afterEach, expect, test, vi } from 'vitest'
import { setOwner } from '@/connection/owner'
import { follow } from './mine'
import { remap, remapped } from './table'

const kept: Record<string, { keys: object; single_keys: boolean; language: string }> = {}
const changes: { of: string; change: unknown }[] = []
let signedIn = ''

function server() {
  vi.stubGlobal('fetch', async (path: string, { method, body }: RequestInit) => {
    expect(path).toBe('/api/preferences')
    if (signedIn === '') return new Response('{"error":{"code":"unauthorized","message":"Sign in."}}', { status: 401 })
    if (method === 'PATCH') {
      const change = JSON.parse(body as string) as object
      changes.push({ of: signedIn, change })
      Object.assign(kept[signedIn]!, change)
    }
    return new Response(JSON.stringify(kept[signedIn]))
  })
}

function signIn(who: string) {
  signedIn = who
  setOwner(who)
}

let end = () => {}
afterEach(() => {
  end()
  setOwner('')
  remap({})
  vi.unstubAllGlobals()
  localStorage.clear()
  changes.length = 0
})

test('a person who leaves, or follows another, keeps their shortcuts from the server', async () => {
  kept['ada'] = { keys: { deny: 'q' }, single_keys: true, language: 'en' }
  kept['grace'] = { keys: { approve: 'w' }, single_keys: true, language: 'en' }
  server()
  signIn('ada')
  end = follow()
  await vi.waitFor(() => expect(remapped.value).toEqual({ deny: 'q' }))

  // Another signs in in another tab of this browser, which this one hears of.
  signIn('grace')
  await vi.waitFor(() => expect(remapped.value).toEqual({ approve: 'w' }))
  expect(changes).toEqual([])
  remap({ approve: 'p' })
  await vi.waitFor(() => expect(changes).toEqual([{ of: 'grace', change: { keys: { approve: 'p' } } }]))

  setOwner('')
  await flushPromises()
  expect(changes).toHaveLength(1)
  expect(kept).toMatchObject({ ada: { keys: { deny: 'q' } }, grace: { keys: { approve: 'p' } } })
})

test('shortcuts that arrive late are not applied to the next person', async () => {
  kept['ada'] = { keys: { deny: 'q' }, single_keys: true, language: 'en' }
  server()
  signIn('ada')
  end = follow()
  setOwner('')
  await flushPromises()
  expect(remapped.value).toEqual({})
})
