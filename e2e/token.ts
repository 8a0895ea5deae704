/** The bootstrap token of every server that is started for a browser test. */
export const token = 'an-admin-token-for-the-browser-tests-only'
