import { App } from '../app.ts'
import { awayMessages, expect, test } from '../fixtures.ts'
import { cuttable } from '../proxy.ts'
import { ask, bash, fetchPage, play, prompt, question, text } from '../script.ts'
import { processesWith } from '../server.ts'

test('forms are back after a reload', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Fetch.', ['one', 'two'].map(fetchPage), [text('Both: {{tool_results}}')]), {
    cwd: folder,
  })
  const app = await App.openSession(page, id)
  await expect(app.cards()).toHaveCount(2)

  await page.reload()

  await expect(app.cards()).toHaveCount(2)
  await app.deny(app.card('/two'), 'second')
  await app.deny(app.card('/one'), 'first')
  await expect(app.said(/Both: /)).toBeVisible()
  expect(await rest.said(id)).toMatch(/first/)
  expect(await rest.said(id)).toMatch(/second/)
})

test('forms are correct after a lost connection @newest @nightly', async ({
  page,
  folder,
  rest,
  server,
  signIn,
  context,
}) => {
  for (const description of awayMessages) {
    test.info().annotations.push({ type: 'allowed on the console', description })
  }
  const cable = await cuttable(server.url)
  await signIn(context, { ...server, url: cable.url })
  const id = await rest.start(prompt('Fetch.', ['one', 'two'].map(fetchPage), [bash('touch later')], [text('Done.')]), {
    cwd: folder,
  })
  const near = await App.openSession(page, id)
  const far = await App.openSession(await context.newPage(), id, cable.url)
  await expect(far.cards()).toHaveCount(2)

  cable.cut()
  await expect(far.reconnecting()).toBeVisible()
  await near.deny(near.card('/one'), 'no')
  await near.deny(near.card('/two'), 'no')
  await expect(near.card('touch later')).toBeVisible()
  await cable.mend()

  // While it was cut off, the pause before the next attempt has grown to 15 seconds.
  await expect(far.card('touch later')).toBeVisible({ timeout: 45_000 })
  await expect(far.cards()).toHaveCount(1)
  await expect(far.reconnecting()).toBeHidden()
  await far.approve(far.card())
  await expect(near.said('Done.')).toBeVisible()
  await cable.close()
})

test('killing a session with an open request closes its form in both tabs and leaves no process', async ({
  page,
  context,
  folder,
  rest,
}) => {
  const id = await rest.start(prompt('Make a file.', [bash('touch never')]), { cwd: folder })
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)
  await expect(desk.cards()).toHaveCount(1)
  await expect(phone.cards()).toHaveCount(1)
  expect(processesWith(id)).not.toHaveLength(0)

  await desk.kill()

  await expect(desk.cards()).toHaveCount(0)
  await expect(phone.cards()).toHaveCount(0)
  await expect.poll(async () => (await rest.state(id)).state).toBe('dead')
  expect(processesWith(id)).toEqual([])
})

test('a dead session is resumed and remembers the conversation', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Hello.', [text('The word is heron.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.said('The word is heron.')).toBeVisible()
  await app.kill()
  await expect.poll(async () => (await rest.state(id)).state).toBe('dead')

  await app.resume()
  await expect.poll(async () => (await rest.state(id)).state).toBe('user_turn')
  await app.send(prompt('Once more.', [text('I am back.')]))
  await expect(app.said('I am back.')).toBeVisible()
  await expect(app.said('The word is heron.')).toBeVisible()
})

test('a message sent while Claude works is queued and sent @nightly', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Fetch.', [fetchPage('one')], [text('First turn done.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.cards()).toHaveCount(1)

  await app.send(prompt('Then this.', [text('Second turn done.')]))
  await expect.poll(async () => (await rest.state(id)).queued_messages).toBe(1)
  await app.deny(app.card(), 'no')

  await expect(app.said('First turn done.')).toBeVisible()
  await expect(app.said('Second turn done.')).toBeVisible()
  expect((await rest.state(id)).queued_messages).toBe(0)
})

test('drafts survive a reload @newest', async ({ page, scripted, rest }) => {
  const id = await rest.start(
    play(
      'Ask me.',
      [ask(question('Which format?', 'Format', ['Summary', 'Table']))],
      [text('You said: {{last_tool_result}}')],
    ),
    { cwd: scripted },
  )
  const app = await App.openSession(page, id)
  await app.other(app.card(), 'Which format?', 'Half a sentence')
  await app.composer().fill('Also this')

  await page.reload()

  await expect(app.otherField(app.card(), 'Which format?')).toHaveValue('Half a sentence')
  await expect(app.composer()).toHaveValue('Also this')
  await app.submit(app.card())
  await expect(app.said(/"Which format\?":"Half a sentence"/)).toBeVisible()
})

test('a request never takes the focus, and typing decides nothing @newest', async ({ page, scripted, rest }) => {
  const id = await rest.start(play('Hello.', [text('Go on.')]), { cwd: scripted })
  const app = await App.openSession(page, id)
  await expect(app.said('Go on.')).toBeVisible()
  await app.composer().focus()
  await page.keyboard.type('yes ')

  await rest.post(`/api/sessions/${id}/messages`, {
    text: play('Work.', [fetchPage('one')], [text('Heard: {{last_tool_result}}')]),
  })
  await expect(app.card()).toBeVisible()
  await page.keyboard.type('y1n e ')

  await expect(app.composer()).toBeFocused()
  await expect(app.composer()).toHaveValue('yes y1n e ')
  await expect(app.cards()).toHaveCount(1)
  expect((await rest.state(id)).pending_requests).toHaveLength(1)
})
