# SET NX PX and a script that compares, with redis-rb (tried with 4.8.0).
require "redis"
require "securerandom"
require_relative "picklock"

COMPARE_AND_DELETE = <<~LUA.freeze
  if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
  return 0
LUA
COMPARE_AND_EXPIRE = <<~LUA.freeze
  if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
  return 0
LUA
NotHeld = Class.new(StandardError)

class RedisRb
  def initialize(run)
    @redis = Redis.new(url: ENV.fetch("REDIS_URL"), timeout: 1)
    @ttl = (run.ttl * 1000).to_i
  end

  def acquire(key, timeout)
    token = SecureRandom.uuid
    Picklock.until_timeout(timeout) { @redis.set(key, token, nx: true, px: @ttl) && [key, token] }
  end

  def extend((key, token))
    @redis.eval(COMPARE_AND_EXPIRE, [key], [token, @ttl]).zero? ? nil : [key, token]
  end

  def held((key, token))
    @redis.get(key) == token
  end

  def release((key, token))
    raise NotHeld, "it had run out" if @redis.eval(COMPARE_AND_DELETE, [key], [token]).zero?
  end
end

Picklock.serve(RedisRb, NotHeld)
