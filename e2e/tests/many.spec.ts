import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { everything } from '../machine.ts'
import { bash, fetchPage, prompt, subagent, text } from '../script.ts'
import { Tab } from '../wire.ts'

test('three open fetches are answered last to first', async ({ page, context, folder, rest }) => {
  const id = await rest.start(
    prompt('Fetch.', ['one', 'two', 'three'].map(fetchPage), [text('I heard: {{tool_results}}')]),
    { cwd: folder },
  )
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  for (const tab of [desk, phone]) {
    // The last one joins the others to a group.
    await expect(tab.cards()).toHaveCount(1)
    await expect(tab.card('/three')).toBeVisible()
    await tab.choose(tab.cards(), 'Show requests separately')
    await expect(tab.cards()).toHaveCount(3)
  }
  for (const [left, path] of [
    [2, 'three'],
    [1, 'two'],
    [0, 'one'],
  ] as const) {
    await desk.deny(desk.card(`/${path}`), `no to ${path}`)
    await expect(phone.cards()).toHaveCount(left)
  }
  await expect(desk.said(/I heard: /)).toBeVisible()
  // Each answer went to the fetch it was for.
  const calls = (await rest.transcript(id)).filter((i) => i.kind === 'tool_call')
  expect(calls.map((c) => [(c.input as { url: string }).url.split('/').pop(), c.result])).toEqual([
    ['one', 'no to one'],
    ['two', 'no to two'],
    ['three', 'no to three'],
  ])
})

test('two subagents ask at once, and each request names its agent @nightly', async ({ page, folder, rest }) => {
  const id = await rest.start(
    prompt(
      'Delegate.',
      [
        subagent('Reader', false, [fetchPage('reader')], [text('Reader heard {{last_tool_result}}')]),
        subagent('Writer', false, [fetchPage('writer')], [text('Writer heard {{last_tool_result}}')]),
      ],
      [text('Both are back: {{tool_results}}')],
    ),
    { cwd: folder },
  )
  const app = await App.openSession(page, id)

  await expect(app.cards()).toHaveCount(2)
  const asked = (await rest.state(id)).pending_requests
  expect(new Set(asked.map((r) => r.agent_id)).size).toBe(2)
  await expect(app.card('/reader').getByText(/Reader/)).toBeVisible()
  await expect(app.card('/writer').getByText(/Writer/)).toBeVisible()

  await app.deny(app.card('/writer'), 'not the writer')
  await app.deny(app.card('/reader'), 'not the reader')
  await expect(app.said(/Both are back:/)).toBeVisible()
})

test('a background subagent asks after the turn has ended @nightly', async ({ page, folder, rest }) => {
  const id = await rest.start(
    prompt(
      'Delegate.',
      [subagent('Reader', true, { blocks: [fetchPage('late')], delay_ms: 1500 })],
      [text('Reader is on it.')],
    ),
    { cwd: folder },
  )
  const app = await App.openSession(page, id)
  await expect(app.said('Reader is on it.')).toBeVisible()
  await expect.poll(async () => (await rest.state(id)).state).toBe('user_turn')

  await expect(app.card('/late')).toBeVisible()
  await app.deny(app.card('/late'), 'too late')
  await expect(app.cards()).toHaveCount(0)
  expect((await rest.state(id)).pending_requests).toEqual([])
})

test('interrupting with two open requests closes both forms everywhere, and the session stays usable @browsers', async ({
  page,
  context,
  folder,
  rest,
}) => {
  const id = await rest.start(prompt('Fetch.', ['one', 'two'].map(fetchPage)), { cwd: folder })
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  await expect(desk.cards()).toHaveCount(2)
  await expect(phone.cards()).toHaveCount(2)
  await desk.interrupt()
  await expect(desk.cards()).toHaveCount(0)
  await expect(phone.cards()).toHaveCount(0)

  await phone.send(prompt('And now?', [text('I am still here.')]))
  await expect(desk.said('I am still here.')).toBeVisible()
})

test('answers to a closed, unknown or answered request say so @nightly', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Fetch.', [fetchPage('one')]), { cwd: folder })
  const app = await App.openSession(page, id)
  const tab = await Tab.open(page)
  await expect(app.cards()).toHaveCount(1)
  const [request] = (await rest.state(id)).pending_requests
  const answer = { type: 'pending_request_response', session_id: id, request_type: 'tool_approval', decision: 'allow' }

  expect(await tab.command({ ...answer, request_id: crypto.randomUUID() })).toMatchObject({ result: 'stale' })

  await app.interrupt()
  await expect(app.cards()).toHaveCount(0)
  const before = Date.now() / 1000 - 60
  const late = await tab.command({ ...answer, request_id: request.request_id, input_hash: request.input_hash })
  expect(late).toMatchObject({ result: 'stale', resolved: { outcome: 'withdrawn' } })
  expect(late.resolved?.at).toBeGreaterThan(before)
  expect(late.resolved?.summary).not.toBe('')

  await app.send(prompt('Fetch.', [fetchPage('two')], [text('Heard: {{last_tool_result}}')]))
  await app.deny(app.card('/two'), 'no')
  await expect(app.said('Heard: no')).toBeVisible()
  const resolved = (await rest.transcript(id)).filter((i) => i.kind === 'resolved').at(-1)
  const after = await tab.command({ ...answer, request_id: resolved?.request_id })
  expect(after).toMatchObject({ result: 'already_resolved', resolved: { outcome: 'denied', by: 'admin' } })
  expect(after.resolved?.at).toBeGreaterThan(before)
})

const rounds = everything ? 200 : 30
test(`two tabs that answer differently at the same instant: one wins, ${rounds} times @newest @nightly`, async ({
  page,
  folder,
  rest,
}) => {
  test.setTimeout(240_000)
  const inOneReply = 10
  const replies = Array.from({ length: rounds / inOneReply }, (_, reply) =>
    Array.from({ length: inOneReply }, (_, n) => bash(`touch file-${reply * inOneReply + n}`)),
  )
  const id = await rest.start(prompt('Race.', ...replies, [text('The race is over.')]), { cwd: folder })
  await page.goto('/')

  const outcome = await page.evaluate(
    async ([session, rounds]) => {
      interface Told {
        ack: any
        decision: string
      }
      const told = new Map<string, Told[]>() // by request
      const commands = new Map<string, [string, string]>()
      const commandOf = new Map<string, any>()
      let done = () => {}
      const over = new Promise<void>((resolve) => (done = resolve))
      const open = (decision: string) =>
        new Promise<{ answer(request: any): void }>((resolve) => {
          const socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws', [
            'sayso',
            `sayso.page-key.${localStorage.getItem('sayso:page-key')}`,
          ])
          const take = (frame: any) => {
            if (frame.type === 'batch') frame.frames.forEach(take)
            if (frame.type === 'active_processes') {
              resolve({
                answer(request) {
                  const command_id = crypto.randomUUID()
                  commands.set(command_id, [request.request_id, decision])
                  socket.send(
                    JSON.stringify({
                      type: 'pending_request_response',
                      command_id,
                      session_id: session,
                      request_id: request.request_id,
                      request_type: 'tool_approval',
                      input_hash: request.input_hash,
                      decision,
                      ...(decision === 'deny' ? { message: 'no' } : {}),
                    }),
                  )
                },
              })
              frame.processes.forEach(take)
            }
            if (frame.type === 'process_state' && frame.session_id === session) frame.pending_requests.forEach(race)
            if (frame.type === 'ack' && commands.has(frame.command_id)) {
              const [request, decision] = commands.get(frame.command_id)!
              told.get(request)!.push({ ack: frame, decision })
              if (told.size === rounds && [...told.values()].every((t) => t.length === 2)) done()
            }
          }
          socket.onmessage = (message) => take(JSON.parse(message.data))
        })
      const tabs: { answer(request: any): void }[] = []
      function race(request: any) {
        if (tabs.length < 2 || told.has(request.request_id)) return
        told.set(request.request_id, [])
        commandOf.set(request.request_id, request.tool_input.command)
        // Which of them is sent first alternates; the two sockets do the rest.
        const [first, second] = told.size % 2 ? tabs : [...tabs].reverse()
        first.answer(request)
        second.answer(request)
      }
      const opened = await Promise.all([open('allow'), open('deny')])
      tabs.push(...opened)
      // A third look, at what was open before both tabs were there.
      const watch = new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws', [
        'sayso',
        `sayso.page-key.${localStorage.getItem('sayso:page-key')}`,
      ])
      watch.onmessage = (message) => {
        const frame = JSON.parse(message.data)
        if (frame.type === 'active_processes')
          frame.processes
            .filter((p: any) => p.session_id === session)
            .forEach((p: any) => p.pending_requests.forEach(race))
      }
      await over
      return [...told].map(([request, both]) => ({ command: commandOf.get(request) as string, both }))
    },
    [id, rounds] as const,
  )

  expect(outcome).toHaveLength(rounds)
  await expect.poll(() => rest.said(id), { timeout: 60_000 }).toContain('The race is over.')
  const winners = { allow: 0, deny: 0 }
  for (const { command, both } of outcome) {
    const won = both.filter((t) => t.ack.result === 'applied')
    const lost = both.filter((t) => t.ack.result === 'already_resolved')
    expect([command, won.length, lost.length]).toEqual([command, 1, 1])
    expect(lost[0].ack.resolved.outcome).toBe(won[0].decision === 'allow' ? 'answered' : 'denied')
    expect(lost[0].ack.resolved.by).toBeTruthy()
    expect(lost[0].ack.resolved.at).toBeGreaterThan(0)
    expect([command, existsSync(join(folder, command.replace('touch ', '')))]).toEqual([
      command,
      won[0].decision === 'allow',
    ])
    winners[won[0].decision as 'allow' | 'deny']++
  }
  // Both can win; otherwise the order alone would have decided.
  expect(winners.allow).toBeGreaterThan(0)
  expect(winners.deny).toBeGreaterThan(0)
})

test('when two people decide at the same instant, the slower one is told who was first', async ({
  page,
  context,
  folder,
  rest,
}) => {
  const id = await rest.start(prompt('Fetch.', [fetchPage('one')], [text('Heard: {{last_tool_result}}')]), {
    cwd: folder,
  })
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)
  await expect(desk.card()).toBeVisible()
  await desk.prepareDeny(desk.card(), 'from the desk')
  // Tabs of one browser share what is being written.
  await expect(phone.card().getByRole('textbox')).toHaveValue('from the desk')

  // A button that was just shown takes no press.
  const moment = Date.now() + 2_000
  await Promise.all([desk.confirmDenyAt(desk.card(), moment), phone.confirmDenyAt(phone.card(), moment)])

  await expect(desk.said(/Heard: /)).toBeVisible()
  await expect(desk.cards()).toHaveCount(0)
  await expect(phone.cards()).toHaveCount(0)
  const told = await Promise.all([desk, phone].map((app) => app.answeredElsewhere().count()))
  expect(told.filter((n) => n > 0)).toHaveLength(1)
})

test('after quick decisions the buttons of the next card are in view at once @nightly', async ({
  page,
  folder,
  rest,
}) => {
  const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven']
  const id = await rest.start(prompt('Write.', ...names.map((name) => [bash(`touch ${name}`)]), [text('Done.')]), {
    cwd: folder,
  })
  await page.setViewportSize({ width: 1280, height: 720 })
  const app = await App.openSession(page, id)
  for (const name of names.slice(0, -1)) await app.approve(app.card(`touch ${name}`))

  const last = app.card('touch seven')
  await expect(app.approveButton(last)).toBeVisible()
  expect(await app.outcome().count()).toBeGreaterThan(2)
  await expect(app.approveButton(last)).toBeInViewport({ ratio: 1, timeout: 1_500 })
  await app.approve(last)
  await expect(app.said(/Done\./)).toBeVisible()
})
