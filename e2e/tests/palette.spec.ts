import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { everything } from '../machine.ts'
import { play, text } from '../script.ts'

test('the palette acts on the open session and others, and asks before it kills one @newest @browsers', async ({
  page,
  scripted,
  rest,
}) => {
  const id = await rest.start(play('One.', [text('Said.')]), { cwd: scripted, title: 'Act here' })
  await expect.poll(async () => (await rest.state(id)).state).toBe('user_turn')
  await page.goto('/')
  await expect(page.getByRole('navigation').getByRole('link', { name: 'Act here' })).toBeVisible()
  const palette = page.getByRole('dialog', { name: 'Search sessions and actions' })
  const open = async (words: string) => {
    await App.of(page).hearsKeys()
    await page.keyboard.press('Control+k')
    await expect(palette.getByRole('combobox')).toBeFocused()
    await page.keyboard.type(words)
  }
  await open('act here')
  await page.keyboard.press('Tab')
  await expect(palette.getByRole('listbox', { name: 'Actions for Act here' })).toBeVisible()
  if (everything) await expectAccessible(page, 'the actions of a session in the palette', 'dialog[open]')
  await palette.getByRole('option', { name: 'Pin', exact: true }).click()
  await expect(page.getByRole('region', { name: 'Pinned' }).getByRole('link', { name: 'Act here' })).toBeVisible()

  await page.goto(`/sessions/${id}`)
  await expect(page.getByRole('heading', { level: 1, name: 'Act here' })).toBeVisible()
  await open('kill')
  await expect(palette.getByRole('option').first()).toHaveText(/^Kill…Act here/)
  await page.keyboard.press('Enter')
  const asks = page.getByRole('dialog', { name: 'Kill “Act here”?' })
  await expect(asks).toBeVisible()
  expect((await rest.state(id)).state).toBe('user_turn')
  await asks.getByRole('button', { name: 'Kill', exact: true }).click()
  await expect.poll(async () => (await rest.state(id)).state).toBe('dead')
  await open('> res')
  await expect(palette.getByRole('option', { name: 'Resume Act here' })).toBeVisible()
})
