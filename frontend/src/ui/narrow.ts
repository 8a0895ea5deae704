import { useMediaQuery } from '@vueuse/core'
import { BREAKPOINTS } from './breakpoints'

/** Whether the window is as narrow as a phone. */
export const narrow = useMediaQuery(BREAKPOINTS.narrow)

/** Whether the window is so low that a card keeps only its title, subject and buttons visible. */
export const short = useMediaQuery(BREAKPOINTS.short)

/** Whether the main pointer is a finger, so that focusing a field opens a keyboard. */
export const touch = useMediaQuery('(pointer: coarse)')

/** Whether there is space for only one of a list and its selected item, beside the sidebar. */
export const single = useMediaQuery(BREAKPOINTS.single)
