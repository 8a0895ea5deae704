import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text } from '../script.ts'

const painted = (kind: string) => [...(CSS.highlights.get(`code-${kind}`) ?? [])].map((r) => r.toString())

test('code is coloured by a worker and stays text', async ({ page, folder, rest }) => {
  const code = 'func main() {\n\t// says it\n\tprintln("<img src=x onerror=alert(1)>")\n}'
  const id = await rest.start(prompt('Show me.', [text(`Here:\n\n\`\`\`go\n${code}\n\`\`\``)]), { cwd: folder })
  await App.openSession(page, id)

  const block = page.getByRole('figure')
  await expect(block.locator('code')).toHaveText(code)
  await expect.poll(() => page.evaluate(painted, 'keyword')).toContain('func')
  expect(await page.evaluate(painted, 'comment')).toEqual(['// says it'])
  expect(await block.locator('code *').count()).toBe(0)
})
