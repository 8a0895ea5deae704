import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { awayMessages, expect, test } from '../fixtures.ts'
import { ask, bash, prompt, question, text } from '../script.ts'
import { processesWith, startServer } from '../server.ts'
import { REST } from '../wire.ts'

for (const how of ['restart', 'crash'] as const) {
  test(`after a ${how} of the server with a command and a question open, both forms are back, answered and done${how === 'crash' ? ' @older @browsers' : ' @nightly'}`, async ({
    page,
    context,
    claudePath,
    model,
    request,
    signIn,
  }) => {
    for (const description of awayMessages) {
      test.info().annotations.push({ type: 'allowed on the console', description })
    }
    const server = await startServer({ claudePath, modelURL: model.url })
    try {
      await signIn(context, server)
      const rest = new REST(request, server)
      const format = question('Which format do you want?', 'Format', ['Summary', 'Full text'])
      const command = await rest.start(
        prompt('Make it.', [text('The word is heron.')], [bash('touch made')], [text('It is made.')]),
      )
      const asked = await rest.start(prompt('Ask me.', [ask(format)], [text('You said: {{last_tool_result}}')]))
      const app = await App.openSession(page, command, server.url)
      const other = await App.openSession(await context.newPage(), asked, server.url)
      await expect(app.said('The word is heron.')).toBeVisible()
      await app.send(prompt('Go on.', [bash('touch made')], [text('It is made.')]))
      await expect(app.cards()).toHaveCount(1)
      await expect(other.cards()).toHaveCount(1)
      const before = await rest.state(command)

      await server[how]()

      expect((await rest.state(command)).pending_requests[0].request_id).toBe(before.pending_requests[0].request_id)
      expect(processesWith(command)).toHaveLength(1)
      await app.approve(app.card('touch made'))
      await expect(app.said('It is made.')).toBeVisible()
      expect(existsSync(join(server.workspace, 'made'))).toBe(true)
      await other.card().getByRole('radio', { name: 'Full text' }).check()
      await other.submit(other.card())
      await expect(other.said(/"Which format do you want\?"="Full text"/)).toBeVisible()
      await expect(app.said('The word is heron.')).toBeVisible()
      expect((await rest.transcript(command)).filter((i) => i.kind === 'resolved')).toHaveLength(1)
    } finally {
      await page.close()
      await server.stop()
    }
  })
}

test('after Claude is killed with an open approval, the answer resumes it, and it runs once', async ({
  page,
  folder,
  rest,
  server,
}) => {
  const id = await rest.start(prompt('Make it.', [bash('touch made')], [text('It is made.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.card('touch made')).toBeVisible()
  const asked = (await rest.state(id)).pending_requests[0].request_id
  // The CLI writes its transcript a moment after it has asked.
  await expect.poll(() => server.saved(id)).toContain('"name":"Bash"')
  const pid = processesWith(id).map((line) => Number.parseInt(line.trim(), 10))
  for (const one of pid) process.kill(one, 'SIGKILL')

  await expect(app.problem(/Claude process ended by itself/)).toBeVisible()
  expect((await rest.state(id)).pending_requests).toMatchObject([{ request_id: asked, status: 'orphaned' }])
  await app.approve(app.card('touch made'))

  await expect(app.said('It is made.')).toBeVisible()
  expect(existsSync(join(folder, 'made'))).toBe(true)
  const records = (await rest.transcript(id)).filter((i) => i.kind === 'resolved')
  expect(records).toMatchObject([{ outcome: 'answered', carried: true }])
})

test('a process that ended says why in German', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Make it.', [bash('touch made')]), { cwd: folder })
  await page.addInitScript(() => localStorage.setItem('sayso:language', 'de'))
  await App.openSession(page, id)
  await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(1)
  for (const line of processesWith(id)) process.kill(Number.parseInt(line.trim(), 10), 'SIGKILL')
  await expect(page.getByText(/Der Claude-Prozess wurde unerwartet beendet/).first()).toBeVisible()
})
