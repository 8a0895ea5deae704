import { shallowRef, type Component } from 'vue'

interface OpenDialog {
  readonly key: number
  readonly component: Component
  readonly props: object
  close(result: unknown): void
}

/** openDialogs lists what DialogHost shows, oldest first. */
export const openDialogs = shallowRef<readonly OpenDialog[]>([])
let opened = 0

/**
 * openDialog shows a component above all others. It resolves with the value that the component emits as done,
 * or with null if the host is unmounted first.
 */
export function openDialog<Result>(component: Component, props: object = {}): Promise<Result | null> {
  return new Promise((resolve) => {
    const dialog: OpenDialog = {
      key: ++opened,
      component,
      props,
      close(result) {
        openDialogs.value = openDialogs.value.filter((d) => d !== dialog)
        resolve(result as Result | null)
      },
    }
    openDialogs.value = [...openDialogs.value, dialog]
  })
}
