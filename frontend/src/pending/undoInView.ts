import { unrefElement, useIntersectionObserver, type MaybeComputedElementRef } from '@vueuse/core'
import { onScopeDispose, shallowReactive, watch } from 'vue'

const inView = shallowReactive(new Set<() => readonly string[]>())

/**
 * useUndoInView says of a button that undoes the answers to the requests with these IDs
 * when it is in view, so that no toast offers the same.
 */
export function useUndoInView(button: MaybeComputedElementRef, requestIDs: () => readonly string[]): void {
  const show = (visible: boolean) => void (visible ? inView.add(requestIDs) : inView.delete(requestIDs))
  // Until the observer has looked, a toast would be seen for a moment.
  watch(
    () => unrefElement(button),
    (el) => show(!!el),
    { immediate: true },
  )
  useIntersectionObserver(button, (entries) => show(entries.at(-1)!.isIntersecting))
  onScopeDispose(() => show(false))
}

/** undoInView reports whether a button that undoes the answer to a request is in view. */
export const undoInView = (requestID: string): boolean => [...inView].some((ids) => ids().includes(requestID))
