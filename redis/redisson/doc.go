// Package redisson shares locks with programs in Java that use Redisson: on the same keys and channels.
package redisson
