"""Celery's transports on Redis, of which no acknowledgement that is lost takes a place of a worker for ever.

A worker takes as many messages as it has places, and gives a place back when a message is acknowledged. Those of kombu
keep it where Redis was away at that moment: the worker waits on with fewer places, or with none, and says nothing.
"""

from __future__ import annotations

from kombu.transport import redis, virtual


class PlacesOfMessages(redis.QoS):
    """Counts a message as done also where Redis was not told: it is handed out again, and its job found over."""

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message."""
        try:
            super().ack(delivery_tag)
        except Exception:  # whatever it is goes on upwards
            virtual.QoS.ack(self, delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Give a message back, or drop it."""
        try:
            super().reject(delivery_tag, requeue=requeue)
        except Exception:  # whatever it is goes on upwards
            virtual.QoS.ack(self, delivery_tag)
            raise


class _Channel(redis.Channel):
    QoS = PlacesOfMessages


class _SentinelChannel(redis.SentinelChannel):
    QoS = PlacesOfMessages


class RedisTransport(redis.Transport):
    """For `redis://` and `rediss://`."""

    Channel = _Channel


class SentinelTransport(redis.SentinelTransport):
    """For `sentinel://`."""

    Channel = _SentinelChannel
