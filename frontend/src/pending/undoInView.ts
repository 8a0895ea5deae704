import { unrefElement, useIntersectionObserver, type MaybeComputedElementRef } from '@vueuse/core'
import { onScopeDispose, shallowReactive, watch } from 'vue'

const inView = shallowReactive(new Set<() => readonly string[]>())

/**
 * useUndoInView registers a button that undoes the answers to these requests. While it is in view,
 * no toast offers the same.
 */
export function useUndoInView(button: MaybeComputedElementRef, requestIDs: () => readonly string[]): void {
  const show = (visible: boolean) => void (visible ? inView.add(requestIDs) : inView.delete(requestIDs))
  // Counts as in view until the observer reports; otherwise a toast would flash.
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
