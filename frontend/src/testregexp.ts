// Counts the steps of a backtracking matcher, so that a test can detect a slow expression without a clock. It
// matches as the language specifies; a step is one piece of an expression tried at one place.

type Next = (at: number) => boolean
type Match = (at: number, next: Next) => boolean

class Steps {
  taken = 0
  /** Counting stops with an error after `max` steps, because the expression is slow. */
  constructor(private readonly max = Infinity) {}

  step(): void {
    if (++this.taken > this.max) throw new Error(`an expression took more than ${this.max} steps`)
  }
}

const native = RegExp.prototype.exec
const CLOSED: Record<string, string> = { '[': ']', '(': ')' }

class Compiler {
  private at = 0
  private groups = 0
  readonly saved: (string | undefined)[] = []
  private text = ''
  private readonly names = new Map<string, number>()

  constructor(
    private readonly source: string,
    private readonly flags: string,
    private readonly steps: () => Steps,
  ) {}

  whole(): (text: string, at: number) => number | null {
    const match = this.choice()
    if (this.at < this.source.length) throw new Error(`cannot read ${this.source} at ${this.at}`)
    return (text, at) => {
      this.text = text
      this.saved.length = 0
      let end: number | null = null
      match(at, (to) => ((end = to), true))
      return end
    }
  }

  private choice(): Match {
    const ways = [this.sequence()]
    while (this.source[this.at] === '|') {
      this.at++
      ways.push(this.sequence())
    }
    return ways.length === 1 ? ways[0]! : (at, next) => ways.some((way) => way(at, next))
  }

  private sequence(): Match {
    const parts: Match[] = []
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at]!)) parts.push(this.term())
    return parts.reduceRight<Match>(
      (rest, part) => (at, next) => part(at, (to) => rest(to, next)),
      (at, next) => next(at),
    )
  }

  private term(): Match {
    const from = this.at
    const single = this.single()
    if (single) return this.repeated(null, this.test(this.source.slice(from, this.at)))
    return this.repeated(this.group(), null)
  }

  // Moves past the pattern of one character. It returns false at a group, a lookaround or an anchor.
  private single(): boolean {
    const c = this.source[this.at]!
    if (c === '(' || c === '^' || c === '$') return false
    if (c === '[') {
      for (this.at++; this.source[this.at] !== ']'; this.at++) if (this.source[this.at] === '\\') this.at++
      this.at++
      return true
    }
    if (c === '\\') {
      const rest = this.source.slice(this.at)
      if (/^\\(?:[bB1-9]|k<)/.test(rest)) return false
      this.at += /^\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)/s.exec(rest)![0].length
      return true
    }
    this.at += this.flags.includes('u') ? String.fromCodePoint(this.source.codePointAt(this.at)!).length : 1
    return true
  }

  private test(atom: string): (at: number) => number {
    const wide = this.flags.includes('u')
    const one = new RegExp(`^(?:${atom})$`, this.flags.replace(/[gymd]/g, ''))
    const known = new Map<string, boolean>()
    return (at) => {
      this.steps().step()
      if (at >= this.text.length) return 0
      const char = wide ? String.fromCodePoint(this.text.codePointAt(at)!) : this.text[at]!
      let yes = known.get(char)
      if (yes === undefined) known.set(char, (yes = native.call(one, char) !== null))
      return yes ? char.length : 0
    }
  }

  private group(): Match {
    const rest = this.source.slice(this.at)
    const took = (n: number) => (this.at += n)
    const multi = this.flags.includes('m')
    const word = (at: number) => /\w/.test(this.text[at] ?? ' ')
    const end = (i: number) => this.text[i] === '\n'
    const mark = (length: number, holds: (at: number) => boolean): Match => {
      took(length)
      return (at, next) => {
        this.steps().step()
        return holds(at) && next(at)
      }
    }
    if (rest[0] === '^') return mark(1, (at) => at === 0 || (multi && end(at - 1)))
    if (rest[0] === '$') return mark(1, (at) => at === this.text.length || (multi && end(at)))
    if (rest.startsWith('\\b')) return mark(2, (at) => word(at - 1) !== word(at))
    if (rest.startsWith('\\B')) return mark(2, (at) => word(at - 1) === word(at))
    if (rest[0] === '\\') {
      const name = /^\\(?:(\d)|k<(\w+)>)/.exec(rest)!
      const number = name[1] ? Number(name[1]) : this.names.get(name[2]!)!
      took(name[0].length)
      return (at, next) => {
        const before = this.saved[number] ?? ''
        for (let i = 0; i <= before.length; i++) this.steps().step()
        return this.text.startsWith(before, at) && next(at + before.length)
      }
    }
    const look = /^\(\?(<?)([=!])/.exec(rest)
    if (look) {
      took(look[0].length)
      const begin = this.at
      const inside = this.inside()
      const wanted = look[2] === '='
      if (!look[1]) return (at, next) => inside(at, () => true) === wanted && next(at)
      // Tries every start that the width allows, which is more than an engine does.
      const width = this.widest(this.source.slice(begin, this.at - 1))
      return (at, next) => {
        let found = false
        for (let from = at; from >= Math.max(0, at - width) && !found; from--) found = inside(from, (to) => to === at)
        return found === wanted && next(at)
      }
    }
    const [open, name] = /^\((?:\?:|\?<([A-Za-z]\w*)>)?/.exec(rest)!
    took(open.length)
    const number = open === '(?:' ? 0 : ++this.groups
    if (name) this.names.set(name, number)
    const inside = this.inside()
    if (number === 0) return inside
    return (at, next) =>
      inside(at, (to) => {
        const before = this.saved[number]
        this.saved[number] = this.text.slice(at, to)
        return next(to) || ((this.saved[number] = before), false)
      })
  }

  /** Returns the maximum length of a match in UTF-16 units; Infinity if groups or open counts make it hard to tell. */
  private widest(source: string): number {
    const reader = new Compiler(source, this.flags, this.steps)
    let widest = 0
    let width = 0
    while (reader.at < source.length) {
      if (source[reader.at] === '|') width = 0
      if ('|^$'.includes(source[reader.at]!)) reader.at++
      else if (reader.single()) {
        const count = /^(?:\{(\d+)\})?(?![*+?{])/.exec(source.slice(reader.at))
        if (!count) return Infinity
        reader.at += count[0].length
        width += Number(count[1] ?? 1) * (this.flags.includes('u') ? 2 : 1)
      } else return Infinity
      widest = Math.max(widest, width)
    }
    return widest
  }

  private inside(): Match {
    const match = this.choice()
    if (this.source[this.at] !== CLOSED['(']) throw new Error(`cannot read ${this.source} at ${this.at}`)
    this.at++
    return match
  }

  private repeated(group: Match | null, one: ((at: number) => number) | null): Match {
    const how = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)/.exec(this.source.slice(this.at))
    const once: Match =
      group ??
      ((at, next) => {
        const length = one!(at)
        return length > 0 && next(at + length)
      })
    if (!how) return once
    this.at += how[0].length
    const min = how[1] ? Number(how[1] === '+') : Number(how[2])
    const max = how[1] ? (how[1] === '?' ? 1 : Infinity) : how[3] ? (how[4] ? Number(how[4]) : Infinity) : min
    const lazy = how[5] === '?'
    if (one) return this.run(one, min, max, lazy)
    const more = (at: number, n: number, next: Next): boolean => {
      const again = () => n < max && once(at, (to) => (to > at || n < min) && more(to, n + 1, next))
      if (n < min) return again()
      return lazy ? next(at) || again() : again() || next(at)
    }
    return (at, next) => more(at, 0, next)
  }

  // Repeating a single character needs no stack.
  private run(one: (at: number) => number, min: number, max: number, lazy: boolean): Match {
    return (at, next) => {
      const places = [at]
      const grow = () => {
        if (places.length > max) return false
        const length = one(places.at(-1)!)
        return length > 0 && places.push(places.at(-1)! + length) > 0
      }
      while (places.length <= min) if (!grow()) return false
      if (lazy) {
        do if (next(places.at(-1)!)) return true
        while (grow())
        return false
      }
      while (grow());
      for (; places.length > min; places.pop()) {
        this.steps().step()
        if (next(places.at(-1)!)) return true
      }
      return false
    }
  }
}

/** Runs f and returns how many steps the expressions in it take, including those in the libraries it calls. */
export function stepsOf(f: () => unknown, max = 50_000_000): number {
  const steps = new Steps(max)
  const compiled = new Map<string, (text: string, at: number) => number | null>()
  let counting = false // true for the expressions of the matcher itself
  // oxlint-disable-next-line no-extend-native -- restored below; libraries cannot be observed otherwise
  RegExp.prototype.exec = function (this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const found = native.call(this, text)
    if (counting) return found
    counting = true
    try {
      const key = this.flags + '/' + this.source
      let match = compiled.get(key)
      if (!match) compiled.set(key, (match = new Compiler(this.source, this.flags, () => steps).whole()))
      let at = from
      let end = at <= text.length ? match(text, at) : null
      const next = () => (this.unicode && text.codePointAt(at)! > 0xffff ? 2 : 1)
      while (end === null && !this.sticky && at < text.length) end = match(text, (at += next()))
      // The count is valid only if the matcher agrees with the engine.
      if ((end === null) !== (found === null) || (found && (at !== found.index || end !== at + found[0].length))) {
        throw new Error(
          `the matcher disagrees about ${this} at ${at} to ${end}: ${JSON.stringify(text.slice(0, 200))}, found ${JSON.stringify(found?.[0].slice(0, 200))} at ${found?.index}`,
        )
      }
    } finally {
      counting = false
    }
    return found
  }
  try {
    f()
  } finally {
    // oxlint-disable-next-line no-extend-native
    RegExp.prototype.exec = native
  }
  return steps.taken
}
