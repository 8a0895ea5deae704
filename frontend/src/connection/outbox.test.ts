import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { answerTo, type DurableCommand } from '@/wire/commands'
import { Outbox } from './outbox'

const answer = (command_id: string, request_id: string): DurableCommand => ({
  type: 'pending_request_response',
  command_id,
  session_id: 's',
  request_id,
  request_type: 'tool_approval',
  decision: 'allow',
})
const message = (command_id: string): DurableCommand => ({
  type: 'send_message',
  command_id,
  session_id: 's',
  text: command_id,
})

beforeEach(() => sessionStorage.clear())
const outbox = () => new Outbox(sessionStorage, 'box')

describe('Outbox', () => {
  test('keeps a command across a reload until it is settled', () => {
    outbox().add(message('a'), 1)
    const later = outbox()
    expect(later.entries.map((e) => e.command.command_id)).toEqual(['a'])
    later.settle('a')
    expect(outbox().entries).toEqual([])
  })

  test('sends everything again on each connection, in order, until it is acknowledged', () => {
    const box = outbox()
    box.add(message('a'), 1)
    box.add(message('b'), 2)
    const sent: string[] = []
    const send = (c: DurableCommand) => sent.push(c.command_id) > 0
    box.sendAll(send, 3)
    box.settle('a')
    box.sendAll(send, 4)
    expect(sent).toEqual(['a', 'b', 'b'])
  })

  test('stops when the connection accepts no more', () => {
    const box = outbox()
    for (const id of ['a', 'b', 'c']) box.add(message(id), 1)
    box.sendAll((c) => c.command_id === 'a', 5)
    expect(box.entries.map((e) => e.sent_at)).toEqual([5, null, null])
  })

  test('accepts one answer to a request', () => {
    const box = outbox()
    expect(box.add(answer('a', 'r'), 1)).toBe(true)
    expect(box.add(answer('b', 'r'), 1)).toBe(false)
    expect(answerTo(box.entries, 'r')?.command.command_id).toBe('a')
  })

  test('cancels only what was never sent', () => {
    const box = outbox()
    box.add(message('a'), 1)
    box.add(message('b'), 1)
    box.send('a', () => true, 2)
    expect(box.cancel('a')).toBe(false)
    expect(box.cancel('b')).toBe(true)
    expect(box.entries.map((e) => e.command.command_id)).toEqual(['a'])
  })

  test('treats invalid storage as empty', () => {
    for (const text of ['{', '7', '[null, {"command": 1}]']) {
      sessionStorage.setItem('box', text)
      expect(outbox().entries).toEqual([])
    }
  })

  test('loses nothing during the life of the page when the storage is full', () => {
    const full = new Outbox(
      {
        getItem: () => null,
        setItem: () => {
          throw new Error('full')
        },
      },
      'box',
    )
    full.add(message('a'), 1)
    expect(full.entries).toHaveLength(1)
  })

  // The server applies a command_id once; connections break at any moment,
  // before the command arrives or before its ack does.
  test('each command takes effect exactly once, whatever happens to the connection', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ arrives: fc.boolean(), acked: fc.boolean(), reload: fc.boolean() }), { maxLength: 12 }),
        (losses) => {
          sessionStorage.clear()
          let box = outbox()
          const effects = new Map<string, number>()
          const seen = new Set<string>()
          for (let i = 0; i < 4; i++) box.add(message('m' + i), i)
          for (const loss of [...losses, { arrives: true, acked: true, reload: false }]) {
            if (loss.reload) box = outbox()
            const acks: string[] = []
            box.sendAll((c) => {
              if (!loss.arrives) return true
              if (!seen.has(c.command_id)) effects.set(c.command_id, (effects.get(c.command_id) ?? 0) + 1)
              seen.add(c.command_id)
              acks.push(c.command_id)
              return true
            }, 1)
            if (loss.acked) for (const id of acks) box.settle(id)
          }
          expect(box.entries).toEqual([])
          expect([...effects.values()]).toEqual([1, 1, 1, 1])
        },
      ),
    )
  })
})
