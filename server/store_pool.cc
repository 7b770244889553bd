// SPDX-License-Identifier: Apache-2.0
#include "server/store_pool.h"

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <utility>

namespace coffer {

class StorePool::Threads : public asio::thread_pool {
  using asio::thread_pool::thread_pool;
};

StorePool::StorePool(size_t threads) : threads_(std::make_unique<Threads>(threads)) {}

StorePool::~StorePool() { Join(); }

void StorePool::Run(absl::AnyInvocable<void()> job) {
  asio::post(*threads_, [job = std::move(job)]() mutable { job(); });
}

void StorePool::Join() { threads_->join(); }

}  // namespace coffer
