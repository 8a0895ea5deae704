// The check at the end of every test finds what it is there to find.
import { checkAgreement } from '../agreement.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt } from '../script.ts'

test('a tab that missed a frame is found, and what each part knows is printed @newest', async ({
  page,
  server,
  rest,
  signedIn,
}) => {
  const since = Date.now() / 1000
  let deaf = false
  await page.routeWebSocket(/\/ws/, (tab) => {
    const upstream = tab.connectToServer()
    upstream.onMessage((message) => deaf || tab.send(message))
  })
  const app = await App.home(page, server.url)
  await App.expectSignedIn(page)
  const session = await rest.start(prompt('Go on.', [bash('touch one')]))
  await app.show(session)
  await expect(app.card()).toBeVisible()
  const checked = { url: server.url, since, tab: page, pageKey: signedIn.pageKey }
  await checkAgreement(checked)

  deaf = true
  const { request_id } = (await rest.state(session)).pending_requests[0]!
  await rest.post(`/api/pending/${request_id}/response`, { request_type: 'tool_approval', decision: 'deny' })
  const found = await checkAgreement(checked, 5_000).then(
    () => '',
    (e: Error) => e.message,
  )
  expect(found).toContain(
    [
      `session ${session}`,
      '  fresh tab  []',
      `  oldest tab [${request_id}]`,
      '  database   []',
      '  memory     []',
      '  journal    []',
      '  Claude     []',
      '  The oldest tab knows something else than the database has.',
    ].join('\n'),
  )
  expect(found).toContain(`shows cards of requests that are not open: ${request_id}`)
  test.info().annotations.push({ type: 'parts differ' })
})
