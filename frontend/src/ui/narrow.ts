import { useMediaQuery } from '@vueuse/core'

export const NARROW = '(max-width: 767px)'
export const SINGLE = '(max-width: 1023px)'

/** Whether the screen is as narrow as a phone's. */
export const narrow = useMediaQuery(NARROW)

/** Whether there is room for a list or for what is chosen in it, not for both beside the rail. */
export const single = useMediaQuery(SINGLE)
