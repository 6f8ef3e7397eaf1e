# A lock client of picklock in Ruby: one file, without dependencies. A lock that deletes whatever stands there:
#
#     require "redis"
#     require_relative "picklock"
#
#     class MyLock
#       def initialize(run)
#         @redis, @ttl = Redis.new(url: ENV["REDIS_URL"]), run.ttl
#       end
#
#       def acquire(key, timeout)
#         Picklock.until_timeout(timeout) { @redis.set(key, "mine", nx: true, px: (@ttl * 1000).to_i) && key }
#       end
#
#       def release(key)
#         @redis.del(key)
#       end
#     end
#
#     Picklock.serve(MyLock)
#
# One object serves a client process; its workers call it from a thread each. Times are in seconds.
# `acquire` returns the grant, which may be anything but nil or false: those are "not granted". A
# grant with a method `fencing_token` is fenced. A lock that readers share takes a third argument,
# `shared`; a semaphore of which an acquire can take several permits, all or none, takes a fourth,
# `permits`; one whose writers become readers has `convert(grant, shared)`, which returns the new
# grant; one that can be given more time has `extend(grant)`, which returns the grant, or nil if it
# is over; `held(grant)` says whether the lock still claims it. An exception of one of the classes
# that are given to `serve` says that nothing has happened; after any other nobody knows.
require "json"

module Picklock
  NOT_HELD = { type: "fail", code: "not-held", error: "not held" }.freeze

  # A run, as the harness tells of it: `ttl` in seconds, `servers` as host:port, and all else in `init`.
  class Run
    attr_reader :init, :ttl, :servers

    def initialize(init, workers, say)
      @init, @ttl, @servers, @workers, @say = init, init["ttl_ns"] / 1e9, init["servers"], workers, say
    end

    # Tells the harness that the workers may have lost what they hold. Callable from any thread.
    def lost(error, level: "lost")
      @workers.keys.each { |worker| @say.call(type: "lost", worker: worker, level: level, error: error.to_s) }
    end

    # The same of a loss that is in doubt, and in spite of which the program goes on.
    def doubt(error)
      lost(error, level: "doubt")
    end
  end

  # Asks the block until it returns a grant; for a timeout of 0 once.
  def self.until_timeout(timeout, pause: 0.05)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + timeout
    until (grant = yield)
      return nil if Process.clock_gettime(Process::CLOCK_MONOTONIC) >= deadline

      sleep pause
    end
    grant
  end

  # Serves the harness until it says `exit` or hangs up. `lock_class.new(run)` makes the lock.
  def self.serve(lock_class, *definite)
    out, saying = $stdout.dup, Mutex.new
    $stdout.reopen($stderr) # Whatever a library prints goes to the log.
    say = ->(answer) { saying.synchronize { out.write(JSON.generate(answer) << "\n") } }
    out.sync = true
    workers, lock = {}, nil
    $stdin.each_line do |line|
      request = JSON.parse(line)
      case request["op"]
      when "exit" then break
      when "init"
        lock = lock_class.new(Run.new(request, workers, say))
        say.call(id: request["id"], type: "ok", version: 1, can: abilities(lock))
      else
        worker = request.fetch("worker", 0)
        requests = workers[worker] ||= Queue.new.tap { |it| Thread.new { work(lock, it, say, definite) } }
        requests << request
      end
    end
    exit!(true) # Threads of the lock need not end.
  rescue StandardError => e # Its message comes last: the harness shows the last words.
    $stderr.write(e.full_message(highlight: false, order: :bottom), "\n")
    exit!(false)
  end

  # What a lock can do beyond the four requests, by what it defines: every object has an `extend` of Ruby's own.
  def self.abilities(lock)
    can = %w[convert extend held].select { |name| lock.respond_to?(name) && lock.method(name).owner != Kernel }
    can + ["workers"] + %w[timed shared permits].first(lock.method(:acquire).arity.abs - 1)
  end

  def self.work(lock, requests, say, definite)
    grants = {}
    loop do
      request = requests.pop
      begin
        answer = answer(lock, grants, request)
      rescue *definite => e
        answer = { type: "fail", error: text(e) }
      rescue StandardError => e # Nobody knows what has happened.
        answer = { type: "info", error: text(e) }
      end
      say.call(id: request["id"], worker: request.fetch("worker", 0), **answer)
    end
  end

  def self.answer(lock, grants, request)
    hold, shared = request["hold"], request["mode"] == "shared"
    return NOT_HELD unless grants.key?(hold) || %w[touch acquire].include?(request["op"])

    case request["op"]
    when "touch" then return { type: "ok" }
    when "release"
      lock.release(grants.delete(hold))
      return { type: "ok" }
    when "held" then return lock.held(grants[hold]) ? { type: "ok" } : NOT_HELD
    when "convert" then grant = lock.convert(grants[hold], shared)
    when "extend" then grant = lock.extend(grants[hold])
    else
      arguments = [request["key"], request["acquire_timeout_ns"] / 1e9, shared, request.fetch("permits", 1)]
      grant = lock.acquire(*arguments.first(lock.method(:acquire).arity.abs))
    end
    return { type: "fail", error: "not granted" } unless grant

    grants[hold] = grant
    grant.respond_to?(:fencing_token) ? { type: "ok", token: grant.fencing_token } : { type: "ok" }
  end

  # An exception as valid UTF-8: messages may hold whatever a server has said.
  def self.text(error)
    error.inspect.dup.force_encoding(Encoding::UTF_8).scrub
  end
  private_class_method :abilities, :work, :answer, :text
end
