import type {
  Me, NewPassword, Person, PersonChange, PersonCreate, PersonList, SetUp, SignInLink, SignInList, TokenCreate, TokenCreated, TokenList,
  Passkey, PasskeyChallenge, PasskeyCreate, PasskeyList, PasskeyLogin, PasskeyNew, PasskeySetUp, OIDCBegun, OIDCLogin, SignInWays, Link, LinkList, LinkNew,
} from '@/wsapi/messages.gen'
import { call, signedIn } from '@/wsapi/rest'

const one = (path: string, id: string) => `${path}/${encodeURIComponent(id)}`

export const accounts = {
  me: () => call<Me>('GET', '/api/me'),
  setUp: (body: SetUp) => call<Me>('POST', '/api/set_up', body),
  passkeySetUpChallenge: (body: PasskeySetUp) => call<PasskeyChallenge>('POST', '/api/set_up/passkey/challenge', body),
  setUpByPasskey: (body: PasskeyCreate) => call<Me>('POST', '/api/set_up/passkey', body),
  changePassword: (body: NewPassword) => call<null>('POST', '/api/me/password', body),
  ways: () => call<SignInWays>('GET', '/api/login'),
  passkeySignInChallenge: () => call<PasskeyChallenge>('POST', '/api/login/passkey/challenge', {}),
  passkeySignIn: (body: PasskeyLogin) => signedIn(call<Me>('POST', '/api/login/passkey', body)),
  oidcBegin: () => call<OIDCBegun>('POST', '/api/login/oidc/begin', {}),
  oidcSignIn: (body: OIDCLogin) => signedIn(call<Me>('POST', '/api/login/oidc', body)),
  links: () => call<LinkList>('GET', '/api/links'),
  linkBegin: (body: LinkNew) => call<OIDCBegun>('POST', '/api/links/begin', body),
  linkIdentity: (body: OIDCLogin) => call<Link>('POST', '/api/links', body),
  unlink: (id: string) => call<null>('DELETE', one('/api/links', id)),
  passkeys: () => call<PasskeyList>('GET', '/api/passkeys'),
  passkeyChallenge: (body: PasskeyNew) => call<PasskeyChallenge>('POST', '/api/passkeys/challenge', body),
  addPasskey: (body: PasskeyCreate) => call<Passkey>('POST', '/api/passkeys', body),
  removePasskey: (id: string) => call<null>('DELETE', one('/api/passkeys', id)),
  signIns: () => call<SignInList>('GET', '/api/sign_ins'),
  endSignIn: (id: string) => call<null>('DELETE', one('/api/sign_ins', id)),
  tokens: () => call<TokenList>('GET', '/api/tokens'),
  makeToken: (body: TokenCreate) => call<TokenCreated>('POST', '/api/tokens', body),
  revokeToken: (id: string) => call<null>('DELETE', one('/api/tokens', id)),
  people: () => call<PersonList>('GET', '/api/users'),
  addPerson: (body: PersonCreate) => call<Person>('POST', '/api/users', body),
  changePerson: (id: string, body: PersonChange) => call<Person>('PATCH', one('/api/users', id), body),
  link: (id: string) => call<SignInLink>('POST', `${one('/api/users', id)}/sign_in_link`, {}),
}
