/** An audit entry as people read it; missing parts are empty. */
export interface Read {
  what: string
  at: number | null
  by: string
  device: string
  address: string
  sessionID: string
  subject: string
  edited: boolean
  waited: number | null
  asked: { hash: string; text: string } | null
  answer: { hash: string; text: string } | null
  after: string
  grants: { rule: string; scope: string }[]
}

type Object = Record<string, unknown>
const object = (v: unknown): Object => (typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Object) : {})
const text = (v: unknown): string => (typeof v === 'string' ? v : '')

// Entries come from many years and versions, so no field can be relied on.
export function read(entry: unknown): Read {
  const e = object(entry)
  const by = object(e['by'])
  const content = (v: unknown) => {
    const c = object(v)
    return text(c['hash']) === '' ? null : { hash: text(c['hash']), text: text(c['text']) }
  }
  const grant = object(e['grant'])
  // For an account event: the user, what they were given, and how often.
  const event = () =>
    [
      text(object(e['user'])['name']),
      text(e['role']),
      text(e['credential_name']) || text(e['passkey_name']),
      text(e['method']),
      typeof e['count'] === 'number' && e['count'] > 1 ? `× ${e['count']}` : '',
    ]
      .filter(Boolean)
      .join(', ')
  const at = Date.parse(text(e['at']))
  const answer = content(e['answer'])
  let after = ''
  if (e['edited'] === true && answer?.text) {
    try {
      after = JSON.stringify(object(JSON.parse(answer.text))['updated_input'] ?? '', null, 2)
    } catch {
      after = ''
    }
  }
  return {
    what: text(e['what']),
    at: Number.isNaN(at) ? null : at / 1000,
    by: text(by['name']),
    device: text(by['device']),
    address: text(by['address']),
    sessionID: text(e['session_id']),
    subject:
      text(e['tool_name']) ||
      text(grant['rule']) ||
      text(e['folder']) ||
      [text(e['setting']), text(e['value'])].filter(Boolean).join(' = ') ||
      (typeof e['through_seq'] === 'number' ? `≤ ${e['through_seq']}` : '') ||
      event(),
    edited: e['edited'] === true,
    waited: typeof e['waited_seconds'] === 'number' && text(e['tool_name']) !== '' ? e['waited_seconds'] : null,
    asked: content(e['asked']),
    answer,
    after,
    grants: (Array.isArray(e['grants']) ? e['grants'] : [])
      .map(object)
      .map((g) => ({ rule: text(g['rule']), scope: text(g['scope']) })),
  }
}
