import { writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'

import type { Locator } from '@playwright/test'

import { App } from '../app.ts'
import { startDemo } from '../demo.ts'
import { expect, test } from '../fixtures.ts'
import { root } from '../machine.ts'

// What a README may weigh.
const MAX_BYTES = 1_000_000

interface Frame {
  png: Buffer
  ms: number // how long it is shown
}

const chunk = (type: string, ...data: Buffer[]) => {
  const body = Buffer.concat([Buffer.from(type), ...data])
  const around = Buffer.alloc(8)
  around.writeUInt32BE(body.length - 4, 0)
  around.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
}
const numbers = (...all: number[]) => {
  const data = Buffer.alloc(4 * all.length)
  all.forEach((n, i) => data.writeUInt32BE(n, 4 * i))
  return data
}

/** Joins pictures of one size to one that moves, for ever: an APNG, which needs no encoder of its own. */
function animated(frames: readonly Frame[]): Buffer {
  const parts = frames.map(({ png }) => {
    const found: Record<string, Buffer[]> = {}
    for (let at = 8; at < png.length;) {
      const length = png.readUInt32BE(at)
      const type = png.toString('latin1', at + 4, at + 8)
      ;(found[type] ??= []).push(png.subarray(at + 8, at + 8 + length))
      at += 12 + length
    }
    return { header: found['IHDR']![0]!, data: Buffer.concat(found['IDAT']!) }
  })
  const { header } = parts[0]!
  for (const part of parts) if (!part.header.equals(header)) throw new Error('the frames differ in their format')
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  let order = 0
  return Buffer.concat([
    frames[0]!.png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('acTL', numbers(frames.length, 0)),
    ...parts.flatMap(({ data }, i) => {
      const shown = Buffer.from([frames[i]!.ms >> 8, frames[i]!.ms & 0xff, 1000 >> 8, 1000 & 0xff, 0, 0])
      const control = chunk('fcTL', numbers(order++, width, height, 0, 0), shown)
      return [control, i === 0 ? chunk('IDAT', data) : chunk('fdAT', numbers(order++), data)]
    }),
    chunk('IEND'),
  ])
}

test('a card arrives, is approved, and the next one comes', async ({ browser, claudePath }) => {
  const demo = await startDemo(claudePath)
  const context = await browser.newContext({ viewport: { width: 1120, height: 700 }, reducedMotion: 'reduce' })
  const frames: Frame[] = []
  try {
    const page = await context.newPage()
    const show = async (ms: number) => void frames.push({ png: await page.screenshot(), ms })
    // No screenshot shows the pointer, so one is drawn where it is.
    const point = async (at: Locator) => {
      const box = (await at.boundingBox())!
      const [x, y] = [box.x + box.width / 2, box.y + box.height * 0.7]
      await page.mouse.move(x, y)
      await page.evaluate(
        ([x, y]) => {
          const found = document.getElementById('pointer')
          const pointer = found ?? document.body.appendChild(document.createElement('div'))
          pointer.id = 'pointer'
          Object.assign(pointer.style, {
            position: 'fixed',
            left: `${x}px`,
            top: `${y}px`,
            width: '14px',
            height: '20px',
            background: 'black',
            clipPath: 'polygon(0 0, 0 82%, 24% 64%, 42% 100%, 62% 92%, 44% 58%, 78% 58%)',
            filter: 'drop-shadow(0 0 1px white)',
            pointerEvents: 'none',
            zIndex: '9999',
          })
        },
        [x, y] as const,
      )
    }
    await page.goto(demo.link)
    const app = App.of(page)
    await expect(page.getByRole('feed')).toBeVisible()
    await show(900)
    for (const card of [app.card(), app.card('Write a file')]) {
      await expect(app.approveButton(card)).not.toHaveAttribute('aria-disabled')
      await show(1_600)
      await point(app.approveButton(card))
      await show(700)
      await app.approve(card)
      await expect(app.outcome().last()).toBeVisible()
      await show(1_400)
      // A hand leaves what it pressed; before that nothing more is decided.
      await point(page.getByRole('heading', { level: 1 }))
    }
    await expect(app.card('Edit a file')).toBeVisible()
    await show(2_000)
  } finally {
    await context.close()
    await demo.stop()
  }
  const picture = animated(frames)
  expect(picture.length).toBeLessThan(MAX_BYTES)
  writeFileSync(`${root}docs/screenshots/approval.png`, picture)
})
