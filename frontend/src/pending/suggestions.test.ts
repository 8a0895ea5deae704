// @vitest-environment node
import { expect, test } from 'vitest'
import { granted, offers } from './suggestions'

const rule = {
  type: 'addRules',
  behavior: 'allow',
  destination: 'localSettings',
  rules: [{ toolName: 'Bash', ruleContent: 'go test:*' }, { toolName: 'Read' }],
}

test('rules are shown exactly as they would be saved', () => {
  expect(offers([rule])[0]).toMatchObject({ kind: 'rules', rules: ['Bash(go test:*)', 'Read'], scoped: true })
})

test('the scope is the chosen one, never the suggested one', () => {
  const offer = offers([rule])[0]!
  expect(granted(offer, 'session')).toEqual({ ...rule, destination: 'session' })
  expect(granted(offer, 'userSettings').destination).toBe('userSettings')
})

test('a mode switch applies to the session only', () => {
  const offer = offers([{ type: 'setMode', mode: 'acceptEdits', destination: 'userSettings' }])[0]!
  expect(granted(offer, 'userSettings').destination).toBe('session')
})

test('suggestions that cannot be put in words, or allow everything, are not offered', () => {
  expect(
    offers([
      { type: 'setMode', mode: 'bypassPermissions', destination: 'session' },
      { type: 'addRules', behavior: 'deny', rules: [{ toolName: 'X' }] },
      { type: 'addRules', behavior: 'allow', rules: [] },
      { type: 'other' },
      null,
      7,
    ]),
  ).toEqual([])
})
