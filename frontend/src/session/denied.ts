import { computed, inject, provide, type ComputedRef, type InjectionKey } from 'vue'
import type { Item } from '@/wire/messages.gen'
import type { ToolCall } from './rows'

const key: InjectionKey<ComputedRef<ReadonlySet<string>>> = Symbol('denied')

/** provideDenied provides which tool calls were denied. Claude Code reports a denied call only as failed. */
export function provideDenied(items: () => readonly Item[]): void {
  provide(
    key,
    computed(
      () =>
        new Set(
          items().flatMap((it) =>
            it.kind === 'resolved' && it.outcome === 'denied' && it.tool_use_id ? [it.tool_use_id] : [],
          ),
        ),
    ),
  )
}

/** useDenied reports whether a call failed because it was denied. */
export function useDenied(call: () => ToolCall): ComputedRef<boolean> {
  const denied = inject(key, null)
  return computed(() => call().status === 'failed' && denied?.value.has(call().tool_use_id) === true)
}
