import type { Page } from '@playwright/test'

import { expectAccessible } from '../a11y.ts'
import { expect, test } from '../fixtures.ts'
import { play, text } from '../script.ts'

const row = (page: Page, title: string) => page.getByRole('navigation').getByRole('link', { name: title })
// Other tests pin sessions of the same person, too.
const pinned = (page: Page, title: string) =>
  page.getByRole('navigation').getByRole('region', { name: 'Pinned' }).getByRole('link', { name: title })

test('pins, titles and read positions are the same in all tabs of a person @newest', async ({
  page,
  context,
  scripted,
  rest,
}) => {
  const id = await rest.start(play('One.', [text('Said.')]), { cwd: scripted, title: 'Follow me' })
  await rest.start(play('Two.', [text('Said.')]), { cwd: scripted, title: 'Stay here' })
  await expect.poll(async () => (await rest.state(id)).state).toBe('user_turn')
  const phone = await context.newPage()
  await Promise.all([page, phone].map((tab) => tab.goto('/')))
  await expect(row(phone, 'Follow me')).toContainText('new')

  await row(page, 'Follow me').click({ button: 'right' })
  const menu = page.getByRole('menu', { name: 'Actions for Follow me' })
  await expect(menu.getByRole('menuitem').first()).toBeFocused()
  await expectAccessible(page, 'the menu of a row', '.row-menu')
  await menu.getByRole('menuitem', { name: 'Pin' }).click()
  for (const tab of [page, phone]) await expect(pinned(tab, 'Follow me')).toBeVisible()

  await row(page, 'Follow me').focus()
  await page.keyboard.press('F2')
  await page.keyboard.type('Followed')
  await page.keyboard.press('Enter')
  await expect(pinned(phone, 'Followed')).toBeVisible()
  await expect(row(page, 'Followed')).toBeFocused()

  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(`/sessions/${id}`)
  await expect(row(phone, 'Followed')).not.toContainText('new')
})
