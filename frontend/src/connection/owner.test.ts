import { beforeEach, expect, test, vi } from 'vitest'
import { Drafts } from './drafts'
import type { DurableCommand } from '@/wire/commands'
import { Outbox } from './outbox'
import { onOwner, owner, ownKey, setOwner } from './owner'

const message = (command_id: string): DurableCommand => ({
  type: 'send_message',
  command_id,
  session_id: 's',
  text: command_id,
})
const ids = (box: Outbox) => box.entries.map((e) => e.command.command_id)

beforeEach(() => {
  sessionStorage.clear()
  localStorage.clear()
  setOwner('')
})

test('drafts are shown to their author only', () => {
  const drafts = new Drafts(localStorage)
  setOwner('ada')
  drafts.set('request:r', 'of Ada')
  setOwner('grace')
  expect(drafts.get('request:r')).toBeNull()
  expect(drafts.keys()).toEqual([])
  drafts.set('request:r', 'of Grace')
  drafts.remove('request:r')
  setOwner('ada')
  expect(drafts.get('request:r')).toBe('of Ada')
  expect(drafts.keys()).toEqual(['request:r'])
})

test('drafts that nobody has touched for a month are deleted, whoever wrote them', () => {
  const drafts = new Drafts(localStorage)
  setOwner('ada')
  drafts.set('old', 'x', 0)
  setOwner('grace')
  drafts.prune(40 * 24 * 3600_000)
  setOwner('ada')
  expect(drafts.get('old')).toBeNull()
})

test('an outbox sends only its owner’s decisions, and has them again when the owner returns', () => {
  setOwner('ada')
  const box = new Outbox(sessionStorage, ownKey('outbox'))
  box.add(message('of-ada'), 1)
  setOwner('grace')
  box.open(ownKey('outbox'))
  expect(ids(box)).toEqual([])
  box.add(message('of-grace'), 2)
  const sent: string[] = []
  box.sendAll((c) => sent.push(c.command_id) > 0, 3)
  expect(sent).toEqual(['of-grace'])
  box.settle('of-grace')
  setOwner('ada')
  box.open(ownKey('outbox'))
  box.sendAll((c) => sent.push(c.command_id) > 0, 4)
  expect(sent).toEqual(['of-grace', 'of-ada'])
})

test('a page starts with the last user, and says when another one follows', async () => {
  setOwner('ada')
  vi.resetModules()
  expect((await import('./owner')).owner()).toBe('ada')
  const heard: string[] = []
  const end = onOwner(() => heard.push(owner()))
  setOwner('ada')
  setOwner('grace')
  end()
  setOwner('ada')
  expect(heard).toEqual(['grace'])
})
