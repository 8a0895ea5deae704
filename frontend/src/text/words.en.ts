export const words = {
  done: 'Done',
  open: 'Not done',
}
