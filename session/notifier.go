package session

import (
	"strings"
	"sync"
	"time"
)

// LocalNotifier is the [Notifier] of one server: it calls every listener.
type LocalNotifier struct{ changed, items, live, remote, all, topics listeners }

// A Topic names what changed, other than a session, when one server notifies the others that share
// its database. They read it again.
type Topic string

// The topics. Servers of different releases exchange their names, so none may be renamed.
const (
	TopicPeople    Topic = "people"    // users and their credentials
	TopicProjects  Topic = "projects"  // projects and limits
	TopicSettings  Topic = "settings"  // settings changed at run time
	TopicServers   Topic = "servers"   // the servers and the runners that they drive
	TopicGrants    Topic = "grants"    // revoked grants
	TopicDrafts    Topic = "drafts"    // the key is the id of the user
	TopicBookmarks Topic = "bookmarks" // the key is the id of the user
)

// Listen adds a listener. It runs on the goroutine that notifies, so it must not block.
func (n *LocalNotifier) Listen(listener func(sessionID string)) { n.changed.add(listener) }

// ListenItems adds a listener for NotifyItems, with the same rules.
func (n *LocalNotifier) ListenItems(listener func(sessionID string)) { n.items.add(listener) }

// ListenLive adds a listener for NotifyLive, with the same rules.
func (n *LocalNotifier) ListenLive(listener func(sessionID string)) { n.live.add(listener) }

// ListenRemote adds a listener for changes that another server may have made. It is called
// before the listeners of [LocalNotifier.Listen], with the same rules.
func (n *LocalNotifier) ListenRemote(listener func(sessionID string)) { n.remote.add(listener) }

// ListenAll adds a listener for NotifyAll, with the same rules.
func (n *LocalNotifier) ListenAll(listener func()) { n.all.add(func(string) { listener() }) }

// ListenTopic adds a listener for a topic, with the same rules. It is called only for changes by
// other servers, with the key of what changed, or "" if anything in the topic may have changed.
func (n *LocalNotifier) ListenTopic(topic Topic, listener func(key string)) {
	n.topics.add(func(change string) {
		if about, key, _ := strings.Cut(change, " "); change == "" || about == string(topic) {
			listener(key)
		}
	})
}

// NotifyTopic does nothing: it notifies other servers of a change made by this one, and a
// LocalNotifier has no other servers.
func (n *LocalNotifier) NotifyTopic(Topic, string) {}

// NotifyTopicRemote announces that another server may have changed something in a topic, or in
// any topic if topic is "".
func (n *LocalNotifier) NotifyTopicRemote(topic Topic, key string) {
	if topic == "" {
		n.topics.call("")
		return
	}
	n.topics.call(string(topic) + " " + key)
}

// Notify implements [Notifier].
func (n *LocalNotifier) Notify(sessionID string) { n.changed.call(sessionID) }

// NotifyItems announces that only the transcript of a session has changed: the version of its
// process state is the same, so listeners need not read that again.
func (n *LocalNotifier) NotifyItems(sessionID string) { n.items.call(sessionID) }

// NotifyLive announces that the block that Claude is writing has grown. The store does not
// contain that block yet.
func (n *LocalNotifier) NotifyLive(sessionID string) { n.live.call(sessionID) }

// NotifyRemote announces a change that another server may have made.
func (n *LocalNotifier) NotifyRemote(sessionID string) {
	n.remote.call(sessionID)
	n.changed.call(sessionID)
}

// NotifyAll announces that this server may have missed changes by others. The caller also
// announces, one by one, each session that runs or has a request to answer; listeners refresh
// everything else that they hold.
func (n *LocalNotifier) NotifyAll() {
	n.all.call("")
	n.topics.call("")
}

// listeners is a list that only grows, safe for concurrent use.
type listeners struct {
	mu  sync.RWMutex // protects all
	all []func(sessionID string)
}

func (l *listeners) add(listener func(sessionID string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, listener)
}

func (l *listeners) call(sessionID string) {
	l.mu.RLock()
	all := l.all
	l.mu.RUnlock()
	for _, listen := range all {
		listen(sessionID)
	}
}

// deferDelay is the delay of [LocalNotifier.NotifyDeferred]. It is enough for an answer to reach
// Claude, and too short for anybody to notice that a form disappears later.
const deferDelay = time.Millisecond

// NotifyDeferred notifies after deferDelay, for callers with more urgent work that would
// compete with the listeners.
func (n *LocalNotifier) NotifyDeferred(sessionID string) {
	time.AfterFunc(deferDelay, func() { n.Notify(sessionID) })
}
